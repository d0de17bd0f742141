import assert from "node:assert/strict";
import { test } from "node:test";
import type { Toleration } from "#api/core/v1/affinity.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ApiError } from "#base/errors.ts";
import { world } from "#client/testing.ts";
import { taintEvictionController } from "./taint-eviction.ts";

const taint = (key: string, effect: "NoExecute" | "NoSchedule" = "NoExecute") => ({ key, effect });
const exists = (key: string, tolerationSeconds?: number): Toleration => ({
  key,
  operator: "Exists",
  tolerationSeconds,
});

function setup(taints: readonly object[], pods: Readonly<Record<string, readonly Toleration[]>>) {
  const w = world();
  const one = taintEvictionController();
  w.have(Node, { metadata: { name: "n" }, spec: { taints } });
  w.have(Pod, { metadata: { name: "elsewhere" }, spec: { nodeName: "m" } });
  for (const [name, tolerations] of Object.entries(pods))
    w.have(Pod, { metadata: { name }, spec: { nodeName: "n", tolerations } });
  return Object.assign(w, {
    sync: () => w.reconcile(one, w.get(Node, { name: "n" }) ?? ({ metadata: { name: "n" } } as Node)),
    taint: (some: readonly object[]) => w.client.patch(Node, { name: "n" }, "merge", { spec: { taints: some } }),
    left: () => w.list(Pod).flatMap(({ metadata, spec }) => (spec.nodeName === "n" ? [metadata.name] : [])),
  });
}
const evicted = (name: string) => `Normal TaintManagerEviction Marking for deletion Pod default/${name}`;
const cancelled = (name: string) => `Normal TaintManagerEviction Cancelling deletion of Pod default/${name}`;

test("a pod goes when its shortest toleration of all taints is over", async () => {
  const rows: readonly [readonly object[], readonly Toleration[], number | undefined][] = [
    [[], [], undefined],
    [[taint("a", "NoSchedule")], [], undefined],
    [[taint("a")], [], 0],
    [[taint("a")], [exists("b")], 0],
    [[taint("a")], [exists("a")], undefined],
    [[taint("a")], [exists("a", 60)], 60],
    [[taint("a")], [exists("a", 0)], 0],
    [[taint("a")], [exists("a", -5)], 0],
    [[taint("a"), taint("b")], [exists("a")], 0],
    [[taint("a"), taint("b")], [exists("a", 60), exists("b", 30)], 30],
    [[taint("a"), taint("b")], [exists("a"), exists("b", 30)], 30],
    [[taint("a")], [exists("a", 60), exists("a")], 60],
  ];
  for (const [taints, tolerations, seconds] of rows) {
    const w = setup(taints, { p: tolerations });
    const again = await w.sync();
    const what = JSON.stringify([taints, tolerations]);
    assert.deepEqual(again, seconds ? { afterMs: seconds * 1000 } : undefined, what);
    assert.equal(w.left().length, seconds === 0 ? 0 : 1, what);
    if (!seconds) continue;
    await w.clock.advance(seconds * 1000);
    assert.equal(await w.sync(), undefined);
    assert.deepEqual(w.left(), [], what);
  }
});

test("before a pod is deleted it is said why", async () => {
  const w = setup([taint("a")], { p: [] });
  const seen: unknown[] = [];
  w.fail(({ verb, resource }) => {
    if (verb === "delete" && resource === "pods") seen.push(w.get(Pod, { name: "p" })?.status.conditions);
    return undefined;
  });
  await w.sync();
  assert.deepEqual(w.writes(), ["patch Pod p/status", "delete Pod p"]);
  assert.deepEqual(w.events(), [evicted("p")]);
  assert.deepEqual(seen, [
    [
      {
        type: "DisruptionTarget",
        status: "True",
        reason: "DeletionByTaintManager",
        message: "Taint manager: deleting due to NoExecute taint",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      },
    ],
  ]);
});

test("a node has one time to wait for, that of the pod that goes next", async () => {
  const w = setup([taint("a")], { late: [exists("a", 300)], soon: [exists("a", 100)], ever: [exists("a")] });
  assert.deepEqual(await w.sync(), { afterMs: 100_000 });
  await w.clock.advance(100_000);
  assert.deepEqual(await w.sync(), { afterMs: 200_000 });
  assert.deepEqual(w.left(), ["late", "ever"]);
});

test("when the taint goes the deletion is cancelled, and starts anew when it comes back", async () => {
  const w = setup([taint("a")], { p: [exists("a", 100)] });
  await w.sync();
  await w.clock.advance(60_000);
  await w.taint([]);
  assert.equal(await w.sync(), undefined);
  assert.deepEqual(w.events(), [cancelled("p")]);
  await w.taint([taint("a")]);
  assert.deepEqual(await w.sync(), { afterMs: 100_000 });
});

test("a time that runs goes on when other taints come that are borne, and is cut short by one that is not", async () => {
  const w = setup([taint("a")], { p: [exists("a", 100), exists("b", 10)] });
  await w.sync();
  await w.clock.advance(60_000);
  await w.taint([taint("a"), taint("b")]);
  assert.deepEqual(await w.sync(), { afterMs: 40_000 });
  await w.taint([taint("a"), taint("c")]);
  await w.sync();
  assert.deepEqual(w.events(), [cancelled("p"), evicted("p")]);
  assert.deepEqual(w.left(), []);
});

test("a pod that gets a toleration for ever stays", async () => {
  const w = setup([taint("a")], { p: [exists("a", 100)] });
  await w.sync();
  await w.client.patch(Pod, { namespace: "default", name: "p" }, "merge", { spec: { tolerations: [exists("a")] } });
  assert.equal(await w.sync(), undefined);
  assert.deepEqual(w.events(), [cancelled("p")]);
});

test("a deletion that fails is tried again, and a pod that is going already is left alone", async () => {
  const w = setup([taint("a")], { p: [] });
  w.have(Pod, {
    metadata: { name: "going", deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x/y"] },
    spec: { nodeName: "n" },
  });
  const broken = new ApiError({ code: 500, reason: "InternalError", message: "no" });
  w.fail(({ verb }) => (verb === "delete" ? broken : undefined));
  await assert.rejects(w.sync(), broken);
  w.fail(() => undefined);
  w.writes();
  await w.sync();
  assert.deepEqual(w.writes(), ["delete Pod p"]);
  assert.deepEqual(w.left(), ["going"]);
});

test("of a node that is gone nothing is remembered", async () => {
  const w = setup([taint("a")], { p: [exists("a", 100)] });
  await w.sync();
  w.lose(Node, { name: "n" });
  await w.sync();
  w.have(Node, { metadata: { name: "n" } });
  assert.equal(await w.sync(), undefined);
  assert.deepEqual(w.events(), []);
});
