// Plugins of one's own, and what happens when one refuses or fails after the node was chosen.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/core/v1/pod.ts";
import { ApiError } from "#base/errors.ts";
import { readConfiguration } from "#scheduler/configuration.ts";
import { type SchedulerPlugin, schedulerPlugin } from "#scheduler/framework.ts";
import { defaultPlugins } from "#scheduler/plugins/list.ts";
import { asking, schedulingCluster } from "./cluster.ts";

const withPlugin = (plugin: SchedulerPlugin) => ({
  plugins: [...defaultPlugins, { name: plugin.name, make: () => plugin }],
});
const failures = (events: readonly string[]) => events.filter((event) => event.startsWith("Failed"));
const scheduled = ({ status }: Pod) => status.conditions?.find(({ type }) => type === "PodScheduled");

test("a plugin of one's own filters and scores like the others", async () => {
  const liking = schedulerPlugin({
    name: "Liking",
    filter: (_pod, { name }) => (name === "c" ? { reason: "node(s) named c are disliked", stuck: true } : undefined),
    score: (_pod, { name }) => (name === "b" ? 100 : 0),
  });
  const configuration = readConfiguration({
    profiles: [{ plugins: { score: { enabled: [{ name: "Liking", weight: 50 }] } } }],
  });
  await using cluster = await schedulingCluster({ ...withPlugin(liking), configuration });
  for (const name of ["a", "b", "c"]) await cluster.haveNode(name);
  for (const name of ["p", "q"]) await cluster.havePod(name);
  await cluster.until(async () => Boolean((await cluster.nodeOf("p")) && (await cluster.nodeOf("q"))));
  assert.deepEqual([await cluster.nodeOf("p"), await cluster.nodeOf("q")], ["b", "b"]);
});

test("a pod that is not permitted gives its room back and says why", async () => {
  const refused = { reason: "not today", stuck: true };
  const judge = schedulerPlugin({
    name: "Judge",
    permit: async ({ name }) => (name === "refused" ? refused : undefined),
  });
  await using cluster = await schedulingCluster(withPlugin(judge));
  await cluster.haveNode("a");
  await cluster.havePod("refused", asking({ cpu: "2" }));
  await cluster.until(async () => failures(await cluster.events()).length > 0);
  assert.deepEqual(failures(await cluster.events()), ["FailedScheduling: 0/1 nodes are available: not today."]);
  await cluster.havePod("next", asking({ cpu: "2" }));
  await cluster.until(async () => (await cluster.nodeOf("next")) === "a");
});

test("what is reserved is taken back in reverse order when another plugin refuses", async () => {
  const steps: string[] = [];
  const keeper = (name: string, refuses: boolean) =>
    schedulerPlugin({
      name,
      reserve() {
        steps.push(`reserve ${name}`);
        return refuses ? { reason: "all taken", stuck: false } : undefined;
      },
      unreserve: () => void steps.push(`unreserve ${name}`),
    });
  const plugins = [keeper("First", false), keeper("Second", true)].map((plugin) => ({
    name: plugin.name,
    make: () => plugin,
  }));
  await using cluster = await schedulingCluster({ plugins: [...defaultPlugins, ...plugins] });
  await cluster.haveNode("a");
  await cluster.havePod("p");
  await cluster.until(async () => failures(await cluster.events()).length > 0);
  assert.deepEqual(steps, ["reserve First", "reserve Second", "unreserve Second", "unreserve First"]);
});

test("a binding that fails is tried again after a while, and the pod says so until then", async () => {
  let isDown = true;
  await using cluster = await schedulingCluster({}, ({ subresource }) =>
    isDown && subresource === "binding"
      ? new ApiError({ code: 503, reason: "ServiceUnavailable", message: "the server is tired" })
      : undefined,
  );
  await cluster.haveNode("a");
  await cluster.havePod("p");
  await cluster.until(async () => scheduled(await cluster.pod("p"))?.reason === "SchedulerError");
  assert.match(scheduled(await cluster.pod("p"))?.message ?? "", /the server is tired/);
  isDown = false;
  await cluster.until(async () => (await cluster.nodeOf("p")) === "a");
});

test("a plugin that throws fails the attempt of one pod, not the scheduler", async () => {
  const clumsy = schedulerPlugin({
    name: "Clumsy",
    preFilter({ name }) {
      if (name === "bad") throw new Error("stumbled");
      return undefined;
    },
    filter: () => undefined,
  });
  await using cluster = await schedulingCluster(withPlugin(clumsy));
  await cluster.haveNode("a");
  await cluster.havePod("bad");
  await cluster.havePod("good");
  await cluster.until(async () => (await cluster.nodeOf("good")) === "a");
  await cluster.until(async () => scheduled(await cluster.pod("bad"))?.reason === "SchedulerError");
});

test("profiles schedule side by side, each by its own rules", async () => {
  const configuration = readConfiguration({
    profiles: [
      { schedulerName: "default-scheduler" },
      {
        schedulerName: "packing",
        pluginConfig: [{ name: "NodeResourcesFit", args: { scoringStrategy: { type: "MostAllocated" } } }],
        plugins: { score: { disabled: [{ name: "NodeResourcesBalancedAllocation" }] } },
      },
    ],
  });
  await using cluster = await schedulingCluster({ configuration });
  await cluster.haveNode("a");
  await cluster.havePod("first", asking({ cpu: "500m" }));
  await cluster.until(async () => (await cluster.nodeOf("first")) === "a");
  await cluster.haveNode("b");
  await cluster.havePod("packed", asking({ cpu: "500m" }, { schedulerName: "packing" }));
  await cluster.havePod("spread", asking({ cpu: "500m" }));
  await cluster.until(async () => Boolean((await cluster.nodeOf("packed")) && (await cluster.nodeOf("spread"))));
  assert.deepEqual([await cluster.nodeOf("packed"), await cluster.nodeOf("spread")], ["a", "b"]);
  await cluster.until(async () => (await cluster.events()).length === 3);
});

test("a write of the scheduler says which pod it was for", async () => {
  const causes = new Set<string>();
  await using cluster = await schedulingCluster({}, ({ subresource, because }) => {
    if (subresource === "binding" && because !== undefined) causes.add(because.replace(/@\d+$/, ""));
    return undefined;
  });
  await cluster.haveNode("a");
  await cluster.havePod("p");
  await cluster.until(async () => (await cluster.nodeOf("p")) === "a");
  assert.deepEqual([...causes], ["pods/default/p"]);
});
