import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { equal, slowStart } from "#base/collections.ts";
import { isConflict, isNotFound } from "#base/errors.ts";
import { index } from "./cache.ts";
import { controller } from "./controller.ts";
import { world } from "./testing.ts";

const byNode = index(Pod, ({ spec }) => (spec.nodeName ? [spec.nodeName] : []));

const replicaSets = controller({
  name: "replicaset",
  for: ReplicaSet,
  owns: [Pod],
  async reconcile(rs, { client, cache, event }) {
    const pods = cache.owned(Pod, rs);
    await slowStart(rs.spec.replicas - pods.length, async () => {
      const metadata = { generateName: `${rs.metadata.name}-`, namespace: rs.metadata.namespace };
      const pod = await client.create(Pod, { metadata });
      event("Normal", "SuccessfulCreate", `Created pod: ${pod.metadata.name}`);
    });
    for (const pod of pods.slice(rs.spec.replicas)) await client.delete(Pod, pod.metadata);
    const status = { ...rs.status, replicas: pods.length };
    if (!equal(status, rs.status)) await client.update(ReplicaSet, { ...rs, status }, "status");
    return { afterMs: 1000 };
  },
  async gone({ name }, { client }) {
    await client.delete(Pod, { namespace: "default", name: `${name}-a` });
  },
});

test("a world shows what a reconcile writes and reports", async () => {
  const w = world({ now: "2026-01-01T00:00:00Z" });
  const rs = w.have(ReplicaSet, { metadata: { name: "web" }, spec: { replicas: 2 } });
  w.have(Pod, { metadata: { name: "web-a" } }, { ownedBy: rs });

  assert.deepEqual(await w.reconcile(replicaSets, rs), { afterMs: 1000 });

  assert.deepEqual(w.writes(), ["create Pod web-", "update ReplicaSet web/status"]);
  assert.deepEqual(w.writes(), []);
  assert.match(w.events()[0] ?? "", /^Normal SuccessfulCreate Created pod: web-/);
  assert.equal(w.get(ReplicaSet, { name: "web" })?.status.replicas, 1);
});

test("a world tells the controller that an object is gone", async () => {
  const w = world();
  const rs = w.have(ReplicaSet, { metadata: { name: "web" } });
  w.have(Pod, { metadata: { name: "web-a" } });
  w.lose(ReplicaSet, rs.metadata);
  await w.reconcile(replicaSets, rs);
  assert.deepEqual(w.writes(), ["delete Pod web-a"]);
  assert.deepEqual(w.list(Pod), []);
});

test("objects are found by whatever an index says, and cannot be changed", async () => {
  const w = world();
  w.have(Node, { metadata: { name: "n1" } });
  w.have(Pod, { metadata: { name: "a" }, spec: { nodeName: "n1" } });
  w.have(Pod, { metadata: { name: "b" } });
  const seen: string[] = [];
  const nodes = controller({
    name: "nodes",
    for: Node,
    reads: [Pod],
    async reconcile(node, { cache, client }) {
      seen.push(...cache.by(byNode, node.metadata.name).map(({ metadata }) => metadata.name));
      const pod = cache.get(Pod, { namespace: "default", name: "b" })!;
      await client.update(Pod, { ...pod, spec: { ...pod.spec, nodeName: "n1" } });
      seen.push(...cache.by(byNode, node.metadata.name).map(({ metadata }) => metadata.name));
      assert.throws(() => Object.assign(pod.metadata, { name: "c" }), TypeError);
    },
  });
  await w.reconcile(nodes, w.get(Node, { name: "n1" })!);
  assert.deepEqual(seen, ["a", "a", "b"]);
});

test("a world refuses what a server refuses", async () => {
  const w = world();
  const pod = w.have(Pod, { metadata: { name: "a", finalizers: ["x/y"] } });
  await w.client.update(Pod, { ...pod, metadata: { ...pod.metadata, labels: { a: "b" } } });
  await assert.rejects(w.client.update(Pod, pod), isConflict);
  await assert.rejects(w.client.get(Pod, { namespace: "default", name: "b" }), isNotFound);
  assert.ok((await w.client.delete(Pod, pod.metadata))?.metadata.deletionTimestamp);
  await w.client.patch(Pod, pod.metadata, "merge", { metadata: { finalizers: null } });
  assert.equal(w.get(Pod, pod.metadata), undefined);
});
