import assert from "node:assert/strict";
import { test } from "node:test";
import { Job } from "#api/batch/v1/job.ts";
import { world } from "#client/testing.ts";
import { ttlAfterFinishedController } from "./ttl-after-finished.ts";

const ended = (type: string, at: string) => ({ conditions: [{ type, status: "True", lastTransitionTime: at }] });

test("a job is deleted when its time is over, and looked at again until then", async () => {
  const w = world({ now: "2026-01-01T00:00:10Z" });
  const spec = { ttlSecondsAfterFinished: 60 };
  const job = w.have(Job, { metadata: { name: "j" }, spec, status: ended("Failed", "2026-01-01T00:00:00Z") });
  assert.deepEqual(await w.reconcile(ttlAfterFinishedController, job), { afterMs: 50_000 });
  assert.deepEqual(w.writes(), []);
  await w.clock.advance(50_000);
  assert.equal(await w.reconcile(ttlAfterFinishedController, job), undefined);
  assert.deepEqual(w.writes(), ["delete Job j"]);
});

test("a job without a time, one that runs and one that is deleted are left alone", async () => {
  const w = world({ now: "2026-01-02T00:00:00Z" });
  const over = ended("Complete", "2026-01-01T00:00:00Z");
  const ttl = { ttlSecondsAfterFinished: 0 };
  w.have(Job, { metadata: { name: "kept" }, status: over });
  w.have(Job, { metadata: { name: "runs" }, spec: ttl, status: ended("Suspended", "2026-01-01T00:00:00Z") });
  w.have(Job, { metadata: { name: "going", deletionTimestamp: "2026-01-01T00:00:00Z" }, spec: ttl, status: over });
  for (const job of w.list(Job)) assert.equal(await w.reconcile(ttlAfterFinishedController, job), undefined);
  assert.deepEqual(w.writes(), []);
});

test("a time that was made longer meanwhile counts", async () => {
  const w = world({ now: "2026-01-01T00:01:00Z" });
  const status = ended("Complete", "2026-01-01T00:00:00Z");
  const job = w.have(Job, { metadata: { name: "j" }, spec: { ttlSecondsAfterFinished: 60 }, status });
  w.fail(({ verb }) => {
    if (verb === "get") w.have(Job, { ...job, spec: { ...job.spec, ttlSecondsAfterFinished: 90 } });
    return undefined;
  });
  assert.deepEqual(await w.reconcile(ttlAfterFinishedController, job), { afterMs: 30_000 });
  assert.deepEqual(w.writes(), []);
});
