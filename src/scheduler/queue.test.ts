import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Draft } from "#schema/infer.ts";
import { type SchedulerPlugin, schedulerPlugin, type WatchedChange } from "./framework.ts";
import { prioritySort } from "./plugins/priority-sort.ts";
import { schedulingGates } from "./plugins/scheduling-gates.ts";
import { SchedulingQueue } from "./queue.ts";
import { Scenario } from "./testing/scenario.ts";

/** Refuses pods until a node named after them comes. */
const picky = schedulerPlugin({
  name: "Picky",
  wakes: [{ kind: "Node", on: ["add"], cures: (pod, { now }) => now?.metadata.name === pod.name }],
});
const deaf = schedulerPlugin({ name: "Deaf" });

function queued(gate: SchedulerPlugin = schedulingGates) {
  const scenario = new Scenario();
  const { clock, snapshot } = scenario;
  const queue = new SchedulingQueue({
    clock,
    snapshot,
    compare: (a, b) => prioritySort.queueSort?.(a, b) ?? 0,
    gateOf: (pod) => (gate.preEnqueue?.(pod) ? gate : undefined),
    firstBackoffMs: 1000,
    maxBackoffMs: 10_000,
  });
  const add = (name: string, spec: Draft<Pod["spec"]> = {}) => {
    const view = scenario.pod({ metadata: { name, uid: name }, spec });
    queue.set(view);
    return view;
  };
  const take = () => queue.take()?.view.name;
  const takeAll = () => {
    const names: string[] = [];
    for (let name = take(); name !== undefined; name = take()) names.push(name);
    return names;
  };
  const nodeCame = (name: string): WatchedChange => ({
    kind: "Node",
    old: undefined,
    now: scenario.node(name),
    happened: ["add"],
  });
  const refuse = (...by: SchedulerPlugin[]) => {
    const pod = queue.take();
    assert.ok(pod);
    queue.refuse(pod, new Set(by));
    return pod;
  };
  return { scenario, clock, queue, add, take, takeAll, nodeCame, refuse };
}

test("more important pods come first, and among equals those that have waited longer", async () => {
  const { add, takeAll, clock } = queued();
  add("old");
  await clock.advance(10);
  add("young");
  add("boss", { priority: 10 });
  assert.deepEqual(takeAll(), ["boss", "old", "young"]);
});

test("a pod that is gone is not tried", () => {
  const { add, takeAll, queue } = queued();
  add("a");
  add("b");
  queue.delete("a");
  assert.deepEqual(takeAll(), ["b"]);
});

test("a refused pod waits for a change that cures what it was refused for", async () => {
  const { add, refuse, take, queue, nodeCame, clock } = queued();
  add("web");
  refuse(picky);
  queue.changed(nodeCame("other"));
  queue.changed({ kind: "Node", old: undefined, now: undefined, happened: ["delete"] });
  await clock.advance(20_000);
  assert.equal(take(), undefined);
  queue.changed(nodeCame("web"));
  assert.equal(take(), "web");
});

test("a pod that nobody refused is tried after any change", () => {
  const { add, refuse, take, queue, nodeCame } = queued();
  add("web");
  refuse();
  queue.changed(nodeCame("other"));
  assert.equal(take(), "web");
});

test("a pod backs off for longer each time, ten seconds at most", () => {
  const { add, refuse, queue, nodeCame, clock } = queued();
  add("web");
  const waits: number[] = [];
  for (let i = 0; i < 6; i++) {
    const pod = refuse(picky);
    waits.push(pod.retryAt - clock.elapsed());
    queue.changed(nodeCame("web"));
    assert.equal(pod.where, "backOff");
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 10_000, 10_000]);
});

test("pods that back off are tried early only when nothing else is to be tried, and not after failures", async () => {
  const { add, refuse, take, queue, nodeCame, clock } = queued();
  add("woken");
  refuse(picky);
  queue.changed(nodeCame("woken"));
  add("fresh");
  assert.equal(take(), "fresh");
  assert.equal(take(), "woken");
  add("failing");
  const failing = queue.take();
  assert.ok(failing);
  queue.fail(failing);
  assert.equal(take(), undefined);
  await clock.advance(1000);
  assert.equal(take(), "failing");
});

test("what happens while a pod is in hand is not lost on it", () => {
  const { add, queue, nodeCame } = queued();
  add("web");
  const pod = queue.take();
  assert.ok(pod);
  queue.changed(nodeCame("web"));
  queue.refuse(pod, new Set([picky]));
  assert.equal(pod.where, "backOff");
});

test("nothing stays stuck for ever, but as long as nothing has changed at all it would be no use", async () => {
  const { add, refuse, take, clock, scenario } = queued();
  add("web");
  refuse(deaf);
  await clock.advance(20 * 60_000);
  assert.equal(take(), undefined);
  scenario.node("somewhere");
  await clock.advance(6 * 60_000);
  assert.equal(take(), "web");
});

test("a pod is not tried before its gates are gone", () => {
  const { add, take, queue, scenario } = queued();
  add("web", { schedulingGates: [{ name: "wait" }] });
  assert.equal(take(), undefined);
  assert.deepEqual(queue.sizes, { active: 0, backOff: 0, stuck: 0, gated: 1 });
  queue.set(scenario.pod({ metadata: { name: "web", uid: "web" } }));
  assert.equal(take(), "web");
});

test("an update that a plugin waits for tries the pod again, another does not", () => {
  const touchy = schedulerPlugin({
    name: "Touchy",
    wakes: [{ kind: "Pod", on: ["labels"], cures: (pod, { now }) => now?.uid === pod.uid }],
  });
  const { add, refuse, take, queue, scenario } = queued();
  add("web");
  refuse(touchy);
  queue.set(scenario.pod({ metadata: { name: "web", uid: "web", annotations: { a: "b" } } }));
  assert.equal(take(), undefined);
  queue.set(scenario.pod({ metadata: { name: "web", uid: "web", labels: { a: "b" } } }));
  assert.equal(take(), "web");
});

test("who waits for a pod is told when there is one", async () => {
  const { add, queue } = queued();
  const stop = new AbortController();
  const waiting = queue.wait(stop.signal);
  add("web");
  await waiting;
  queue.take();
  const aborted = queue.wait(stop.signal);
  stop.abort(new Error("over"));
  await assert.rejects(aborted, /over/);
});

test("a pod whose gate stays shut is looked at once for each change", () => {
  let looks = 0;
  const gate = schedulerPlugin({
    name: "Shut",
    wakes: [{ kind: "Node", on: ["add"] }],
    preEnqueue: () => {
      looks++;
      if (looks > 10) throw new Error("it is looked at without end");
      return { reason: "shut", stuck: true };
    },
  });
  const { add, queue, nodeCame } = queued(gate);
  add("waits");
  queue.changed(nodeCame("n"));
  assert.equal(looks, 2);
  assert.equal(queue.sizes.gated, 1);
});
