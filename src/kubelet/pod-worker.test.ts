import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/core/v1/pod.ts";
import { ManualClock } from "#base/clock.ts";
import type { Draft } from "#schema/infer.ts";
import { PodWorker } from "./pod-worker.ts";
import type { PodsContext } from "./pods-context.ts";
import { now, podOf } from "./testing.ts";

test("what a worker itself tells of its pod is no news to it; all else is", () => {
  const pod = podOf();
  const told = { ...pod.status, phase: "Running" as const };
  const at = (version: string, rest: { metadata?: object; status?: object } = {}): Pod => ({
    ...pod,
    metadata: { ...pod.metadata, resourceVersion: version, ...rest.metadata },
    status: { ...told, ...rest.status },
  });
  const table: readonly [string, Pod, boolean][] = [
    ["the same pod again", pod, false],
    ["the status that is being written", at("2"), false],
    ["that, and who wrote it", at("2", { metadata: { managedFields: [{ manager: "kubelet" }] } }), false],
    ["another status", at("2", { status: { phase: "Failed" } }), true],
    ["other labels, too", at("2", { metadata: { labels: { a: "b" } } }), true],
    ["another spec, too", at("2", { metadata: { generation: 2 } }), true],
    ["its end, too", at("2", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }), true],
  ];
  for (const [name, seen, isNews] of table) {
    const context = { clock: new ManualClock(now) } as unknown as PodsContext;
    const worker = new PodWorker(pod, context);
    worker.statusInFlight = told;
    assert.equal(worker.updatePod(seen), isNews, name);
    assert.equal(worker.pod, seen, name);
    worker.statusInFlight = undefined;
    assert.equal(worker.updatePod(at("3")), true, "nothing is being told any more");
  }
});

test("a pod counts at its node from its admission on, and one of an earlier kubelet before the first look", () => {
  const context = { clock: new ManualClock(now) } as unknown as PodsContext;
  const workerOf = (status: Draft<Pod["status"]>) => new PodWorker(podOf({}, { status }), context);
  const startTime = "2026-01-01T00:00:00Z";
  assert.equal(workerOf({}).usesResources, false);
  assert.equal(Object.assign(workerOf({}), { isAdmitted: true }).usesResources, true);
  assert.equal(workerOf({ phase: "Running", startTime }).usesResources, true);
  assert.equal(workerOf({ phase: "Failed", startTime }).usesResources, false);
  const rejected = Object.assign(workerOf({}), { isAdmitted: true });
  rejected.reject({ reason: "OutOfcpu", message: "" });
  assert.equal(rejected.usesResources, false);
});
