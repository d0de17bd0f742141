// The scheduler against an API server in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/v1/event.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Scheduler, type SchedulerOptions } from "#scheduler/scheduler.ts";
import type { Draft } from "#schema/infer.ts";
import { type TestCluster, testCluster } from "../controllers/cluster.ts";

async function schedulingCluster(
  options: Partial<SchedulerOptions> = {},
): Promise<TestCluster & { scheduler: Scheduler }> {
  let scheduler: Scheduler | undefined;
  const cluster = await testCluster({
    controllers: [],
    components: ({ client, informers, server }) => {
      scheduler = new Scheduler({
        client,
        informers,
        clock: server.clock,
        random: seededRandom(3),
        log: silentLog,
        ...options,
      });
      return [scheduler];
    },
  });
  return Object.assign(cluster, { scheduler: scheduler as Scheduler });
}

const allocatable = { cpu: "2", memory: "4Gi", pods: "10" };
const node = (name: string, more: Draft<Node> = {}): Draft<Node> => ({
  ...more,
  metadata: { name, labels: { "kubernetes.io/hostname": name }, ...more.metadata },
  status: { allocatable, capacity: allocatable, ...more.status },
});
const pod = (name: string, cpu: string, spec: Draft<Pod["spec"]> = {}): Draft<Pod> => ({
  metadata: { name, namespace: "default" },
  spec: { containers: [{ name: "app", image: "app", resources: { requests: { cpu } } }], ...spec },
});

test("the scheduler binds a pod to a node with room for it and says so", async () => {
  await using cluster = await schedulingCluster();
  await cluster.client.create(
    Node,
    node("small", { status: { allocatable: { cpu: "100m", memory: "1Gi", pods: "10" } } }),
  );
  await cluster.client.create(Node, node("large"));
  await cluster.client.create(Pod, pod("web", "1"));
  const find = () => cluster.client.get(Pod, { namespace: "default", name: "web" });
  await cluster.until(async () => (await find()).spec.nodeName !== undefined);
  const bound = await find();
  assert.equal(bound.spec.nodeName, "large");
  assert.equal(bound.status.conditions?.find(({ type }) => type === "PodScheduled")?.status, "True");
  const messages = async () =>
    (await cluster.client.list(Event)).items.map(({ reason, message }) => `${reason}: ${message}`);
  await cluster.until(async () => (await messages()).length > 0);
  assert.deepEqual(await messages(), ["Scheduled: Successfully assigned default/web to large"]);
});

test("a pod that fits nowhere says why, once, and is placed when room is made", async () => {
  await using cluster = await schedulingCluster();
  await cluster.client.create(Node, node("a"));
  await cluster.client.create(Node, node("b", { spec: { unschedulable: true } }));
  await cluster.client.create(Node, node("c", { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } }));
  await cluster.client.create(Pod, pod("first", "1500m"));
  const find = (name: string) => cluster.client.get(Pod, { namespace: "default", name });
  await cluster.until(async () => (await find("first")).spec.nodeName !== undefined);
  await cluster.client.create(Pod, pod("second", "1"));
  const condition = async () => (await find("second")).status.conditions?.find(({ type }) => type === "PodScheduled");
  await cluster.until(async () => (await condition()) !== undefined);
  const said =
    "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable.";
  assert.equal((await condition())?.reason, "Unschedulable");
  assert.ok((await condition())?.message?.startsWith(said), (await condition())?.message);
  const second = await find("second");
  const attempt = cluster.scheduler.attempts.of({ uid: second.metadata.uid ?? "" });
  assert.deepEqual(attempt?.verdicts?.map(({ node, plugin }) => `${node} ${plugin}`).toSorted(), [
    "a NodeResourcesFit",
    "b NodeUnschedulable",
    "c TaintToleration",
  ]);

  const { resourceVersion } = second.metadata;
  await cluster.server.clock.advance(11 * 60_000);
  assert.equal((await find("second")).metadata.resourceVersion, resourceVersion, "nothing is written again");
  await cluster.client.delete(Pod, { namespace: "default", name: "first" }, { graceSeconds: 0 });
  await cluster.until(async () => (await find("second")).spec.nodeName === "a");
});
