// Many pods, nodes that come and go, a server that fails now and then: whatever happens, no rule is broken.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ApiError } from "#base/errors.ts";
import { seededRandom } from "#base/random.ts";
import { asking, type SchedulingCluster, schedulingCluster } from "./cluster.ts";

const zone = "topology.kubernetes.io/zone";
const loner = { matchLabels: { app: "loner" } };
const even = { matchLabels: { app: "even" } };

for (const seed of [1, 2, 3, 4])
  test(`no node is given too much, and no rule is broken, under churn ${seed}`, async () => {
    const chance = seededRandom(seed);
    const oneOf = <T>(values: readonly T[]): T => values[chance.below(values.length)] as T;
    let bindings = 0;
    let failures = 0;
    await using cluster = await schedulingCluster({}, (request) => {
      if (request.subresource !== "binding") return undefined;
      bindings++;
      if (bindings % 5 !== 3) return undefined;
      failures++;
      return new ApiError({ code: 503, reason: "ServiceUnavailable", message: "by chance" });
    });
    for (let i = 0; i < 6; i++) await cluster.haveNode(`n${i}`, { metadata: { labels: { [zone]: `z${i % 3}` } } });
    let made = 0;
    for (let step = 0; step < 60; step++) {
      await act(cluster, oneOf, `p${made++}`);
      await cluster.server.clock.advance(oneOf([0, 10, 1000]));
      await assertSound(cluster);
    }
    await cluster.server.clock.advance(60_000);
    await assertSound(cluster);
    assert.ok(failures > 0);
    assert.ok(bindings > 15, `${bindings} bindings were tried`);
  });

async function act(cluster: SchedulingCluster, oneOf: <T>(values: readonly T[]) => T, name: string): Promise<void> {
  const { items } = await cluster.client.list(Pod);
  switch (oneOf(["plain", "plain", "loner", "even", "important", "end", "end", "cordon", "uncordon"] as const)) {
    case "plain":
      await cluster.havePod(name, asking({ cpu: oneOf(["100m", "500m", "900m"]) }));
      return;
    case "important":
      await cluster.havePod(name, asking({ cpu: "1500m" }, { priority: 1000 }));
      return;
    case "loner": {
      const term = { topologyKey: "kubernetes.io/hostname", labelSelector: loner };
      const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
      await cluster.havePod(name, {
        ...asking({ cpu: "100m" }, { affinity }),
        metadata: { labels: loner.matchLabels },
      });
      return;
    }
    case "even": {
      const constraint = {
        topologyKey: zone,
        maxSkew: 1,
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: even,
      } as const;
      const spec = { topologySpreadConstraints: [constraint] };
      await cluster.havePod(name, { ...asking({ cpu: "100m" }, spec), metadata: { labels: even.matchLabels } });
      return;
    }
    case "end": {
      // Only those that are not spread: others may leave places uneven that nobody is to blame for.
      const some = items.filter(({ metadata }) => metadata.labels?.app !== "even");
      if (some.length > 0) await cluster.client.delete(Pod, oneOf(some).metadata, { graceSeconds: 0 });
      return;
    }
    case "cordon":
    case "uncordon": {
      const node = oneOf((await cluster.client.list(Node)).items);
      await cluster.client.patch(Node, node.metadata, "merge", { spec: { unschedulable: oneOf([true, null, null]) } });
      return;
    }
  }
}

async function assertSound({ client }: SchedulingCluster): Promise<void> {
  const pods = (await client.list(Pod)).items.filter(({ spec }) => spec.nodeName);
  const nodes = (await client.list(Node)).items;
  for (const { metadata } of nodes) {
    const here = pods.filter(({ spec }) => spec.nodeName === metadata.name);
    const milli = here.reduce((sum, { spec }) => sum + cpuOf(spec.containers[0]?.resources.requests?.cpu), 0);
    assert.ok(milli <= 2000, `node ${metadata.name} has ${milli}m of 2000m taken`);
    assert.ok(here.length <= 10);
    const loners = here.filter(({ metadata: { labels } }) => labels?.app === "loner");
    assert.ok(loners.length <= 1, `${loners.length} loners on node ${metadata.name}`);
  }
  const counts = new Map(["z0", "z1", "z2"].map((name) => [name, 0]));
  for (const { metadata, spec } of pods) {
    if (metadata.labels?.app !== "even") continue;
    const place = nodes.find((node) => node.metadata.name === spec.nodeName)?.metadata.labels?.[zone] ?? "";
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  assert.ok(Math.max(...counts.values()) - Math.min(...counts.values()) <= 1, JSON.stringify([...counts]));
}

const cpuOf = (text = "0"): number => (text.endsWith("m") ? Number(text.slice(0, -1)) : Number(text) * 1000);
