import assert from "node:assert/strict";
import { test } from "node:test";
import { Job } from "#api/batch/v1/job.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ApiError } from "#base/errors.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { jobController } from "./job.ts";
import { jobOrphanController } from "./orphans.ts";

const labels = { app: "sum" };
const finalizers = ["batch.kubernetes.io/job-tracking"];
const index = "batch.kubernetes.io/job-completion-index";
const failureCount = "batch.kubernetes.io/job-index-failure-count";
const ignoredCount = "batch.kubernetes.io/job-index-ignored-failure-count";
const start = "2026-01-01T00:00:00Z";
const template = {
  metadata: { labels },
  spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] },
};

const have = (w: ClientWorld, spec: object, more: { metadata?: object; status?: object } = {}) =>
  w.have(Job, {
    metadata: { name: "sum", ...more.metadata },
    spec: { manualSelector: true, selector: { matchLabels: labels }, template, ...spec },
    status: { startTime: start, ...more.status },
  } as Parameters<typeof w.have<typeof Job>>[1]);

interface PodOptions {
  readonly phase?: string;
  readonly index?: number;
  readonly counted?: boolean;
  readonly annotations?: Record<string, string>;
  readonly metadata?: object;
  readonly status?: object;
  readonly spec?: object;
}
const pod = (w: ClientWorld, job: Job, name: string, options: PodOptions = {}) => {
  const { phase = "Pending", index: at, counted, annotations, metadata, status, spec } = options;
  const indexed = at === undefined ? {} : { [index]: `${at}` };
  return w.have(
    Pod,
    {
      metadata: {
        name,
        labels,
        ...(!counted && { finalizers }),
        annotations: { ...indexed, ...annotations },
        ...metadata,
      },
      spec: spec ?? {},
      status: { phase, ...status },
    } as Parameters<typeof w.have<typeof Pod>>[1],
    { ownedBy: job },
  );
};
const exited = (exitCode: number, finishedAt = start, name = "c") => ({
  containerStatuses: [
    { name, restartCount: 0, image: "", imageID: "", ready: false, state: { terminated: { exitCode, finishedAt } } },
  ],
});
const deleted = { deletionTimestamp: start };

const statusOf = (w: ClientWorld) => w.get(Job, { name: "sum" })!.status;
const counts = (w: ClientWorld) => {
  const { active = 0, ready = 0, terminating = 0, succeeded = 0, failed = 0 } = statusOf(w);
  return [active, ready, terminating, succeeded, failed].join(" ");
};
const conditions = (w: ClientWorld) =>
  (statusOf(w).conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
const count = (writes: readonly string[], start: string) => writes.filter((line) => line.startsWith(start)).length;

/** Pods by their state: `2 active, 1 ready, 1 succeeded, 3 failed, 1 terminating`. */
function crowd(w: ClientWorld, job: Job, text: string): void {
  for (const [n, part] of text.split(", ").filter(Boolean).entries()) {
    const [number = "0", kind = ""] = part.split(" ");
    for (let i = 0; i < Number(number); i++) {
      const name = `${kind}-${n}-${i}`;
      if (kind === "active") pod(w, job, name, { phase: "Running" });
      if (kind === "ready")
        pod(w, job, name, { phase: "Running", status: { conditions: [{ type: "Ready", status: "True" }] } });
      if (kind === "succeeded") pod(w, job, name, { phase: "Succeeded" });
      if (kind === "failed") pod(w, job, name, { phase: "Failed", status: exited(1, "2025-12-31T00:00:00Z") });
      if (kind === "terminating")
        pod(w, job, name, { phase: "Running", metadata: { deletionTimestamp: "2025-12-31T00:00:00Z" } });
    }
  }
}

interface Case {
  readonly spec: object;
  readonly pods: string;
  readonly creates?: number;
  readonly deletes?: number;
  /** active ready terminating succeeded failed */
  readonly counts: string;
  readonly conditions?: readonly string[];
  readonly events?: readonly string[];
}
const done = ["SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"];
const wq = { parallelism: 2 };
const table: Readonly<Record<string, Case>> = {
  starts: { spec: { parallelism: 2, completions: 5 }, pods: "", creates: 2, counts: "2 0 0 0 0" },
  "starts a work queue": { spec: wq, pods: "", creates: 2, counts: "2 0 0 0 0" },
  "has what it wants": { spec: { parallelism: 2, completions: 5 }, pods: "1 active, 1 ready", counts: "2 1 0 0 0" },
  "starts fewer when few are left": {
    spec: { parallelism: 3, completions: 5 },
    pods: "1 active, 3 succeeded",
    creates: 1,
    counts: "2 0 0 3 0",
  },
  "starts no more than are left": {
    spec: { parallelism: 3, completions: 5 },
    pods: "1 active, 4 succeeded",
    counts: "1 0 0 4 0",
  },
  "is done": {
    spec: { parallelism: 2, completions: 5 },
    pods: "5 succeeded",
    counts: "0 0 0 5 0",
    conditions: done,
    events: ["Normal Completed Job completed"],
  },
  "is done with one too many": {
    spec: { parallelism: 2, completions: 1 },
    pods: "2 succeeded",
    counts: "0 0 0 2 0",
    conditions: done,
    events: [
      "Warning TooManySucceededPods Too many succeeded pods running after completion count reached",
      "Normal Completed Job completed",
    ],
  },
  "wants nothing": {
    spec: { parallelism: 2, completions: 0 },
    pods: "",
    counts: "0 0 0 0 0",
    conditions: done,
    events: ["Normal Completed Job completed"],
  },
  "waits for a work queue to end": { spec: wq, pods: "1 active, 1 succeeded", counts: "1 0 0 1 0" },
  "ends a work queue": {
    spec: wq,
    pods: "2 succeeded",
    counts: "0 0 0 2 0",
    conditions: done,
    events: ["Normal Completed Job completed"],
  },
  "has too many": {
    spec: { parallelism: 2, completions: 5 },
    pods: "2 active, 2 ready",
    deletes: 2,
    counts: "2 2 2 0 0",
  },
  "has more than are left": {
    spec: { parallelism: 2, completions: 5 },
    pods: "2 active, 4 succeeded",
    deletes: 1,
    counts: "1 0 1 4 0",
  },
  "is told to pause by parallelism": {
    spec: { parallelism: 0, completions: 5 },
    pods: "1 active",
    deletes: 1,
    counts: "0 0 1 0 0",
  },
  "replaces what failed long ago": {
    spec: { parallelism: 2, completions: 5 },
    pods: "1 failed",
    creates: 2,
    counts: "2 0 0 0 1",
  },
  "replaces what is being deleted, and counts it as failed": {
    spec: { parallelism: 2, completions: 5 },
    pods: "1 active, 1 terminating",
    creates: 1,
    counts: "2 0 1 0 1",
  },
  "waits for what is being deleted if it is asked to": {
    spec: { parallelism: 2, completions: 5, podReplacementPolicy: "Failed" },
    pods: "1 active, 1 terminating",
    counts: "1 0 1 0 0",
  },
  "has failed too often": {
    spec: { parallelism: 2, completions: 5, backoffLimit: 1 },
    pods: "2 failed",
    counts: "0 0 0 0 2",
    conditions: ["FailureTarget=True BackoffLimitExceeded", "Failed=True BackoffLimitExceeded"],
    events: ["Warning BackoffLimitExceeded Job has reached the specified backoff limit"],
  },
  "has failed too often, and takes what runs along": {
    spec: { parallelism: 2, completions: 5, backoffLimit: 0 },
    pods: "1 ready, 1 failed",
    deletes: 1,
    counts: "0 0 1 0 2",
    conditions: ["FailureTarget=True BackoffLimitExceeded"],
  },
  "starts no more than 500 at once": {
    spec: { parallelism: 700, completions: 700 },
    pods: "",
    creates: 500,
    counts: "500 0 0 0 0",
  },
  "deletes no more than 500 at once": {
    spec: { parallelism: 1, completions: 700 },
    pods: "600 active",
    deletes: 500,
    counts: "100 0 500 0 0",
  },
};

for (const [name, wanted] of Object.entries(table))
  test(`a job that ${name}`, async () => {
    const w = world();
    const job = have(w, wanted.spec);
    crowd(w, job, wanted.pods);
    await w.reconcile(jobController(), job);
    const writes = w.writes();
    assert.equal(count(writes, "create Pod sum-"), wanted.creates ?? 0, "pods created");
    assert.equal(count(writes, "delete Pod"), wanted.deletes ?? 0, "pods deleted");
    assert.equal(counts(w), wanted.counts);
    assert.deepEqual(conditions(w), wanted.conditions ?? []);
    const events = w.events().filter((line) => !/Successful(Create|Delete)/.test(line));
    assert.deepEqual(events, wanted.events ?? []);
  });

test("a new job starts its clock, and its pods carry its labels, its finalizer and its owner", async () => {
  const w = world();
  const job = have(w, {}, { status: { startTime: undefined } });
  await w.reconcile(jobController(), job);
  assert.deepEqual(statusOf(w), { startTime: start, active: 1, ready: 0, terminating: 0, uncountedTerminatedPods: {} });
  const [made] = w.list(Pod);
  assert.deepEqual(made?.metadata.labels, labels);
  assert.deepEqual(made?.metadata.finalizers, finalizers);
  assert.equal(made?.metadata.generateName, "sum-");
  assert.deepEqual(
    made?.metadata.ownerReferences?.map(({ kind, controller, blockOwnerDeletion }) => ({
      kind,
      controller,
      blockOwnerDeletion,
    })),
    [{ kind: "Job", controller: true, blockOwnerDeletion: true }],
  );
  w.writes();
  await w.reconcile(jobController(), job);
  assert.deepEqual(w.writes(), []);
});

test("the pods of an indexed job know their index in every way", async () => {
  const w = world();
  const containers = [
    { name: "c", image: "i", env: [{ name: "JOB_COMPLETION_INDEX", value: "own" }] },
    { name: "d", image: "i" },
  ];
  const initContainers = [{ name: "e", image: "i" }];
  const job = have(w, {
    completionMode: "Indexed",
    completions: 3,
    parallelism: 2,
    template: { ...template, spec: { ...template.spec, containers, initContainers } },
  });
  await w.reconcile(jobController(), job);
  const made = w.list(Pod).toSorted((a, b) => (a.spec.hostname! < b.spec.hostname! ? -1 : 1));
  assert.deepEqual(
    made.map(({ metadata, spec }) => [metadata.generateName, metadata.annotations, metadata.labels, spec.hostname]),
    [0, 1].map((i) => [`sum-${i}-`, { [index]: `${i}` }, { ...labels, [index]: `${i}` }, `sum-${i}`]),
  );
  const variable = {
    name: "JOB_COMPLETION_INDEX",
    valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: `metadata.labels['${index}']` } },
  };
  assert.deepEqual(
    [...made[0]!.spec.containers, ...made[0]!.spec.initContainers!].map(({ env }) => env),
    [[{ name: "JOB_COMPLETION_INDEX", value: "own" }], [variable], [variable]],
  );
});

test("a long name of an indexed job is cut before the index, not behind it", async () => {
  const w = world();
  const name = "j".repeat(60);
  const job = have(w, { completionMode: "Indexed", completions: 1 }, { metadata: { name } });
  await w.reconcile(jobController(), job);
  assert.equal(w.list(Pod)[0]?.metadata.generateName, `${"j".repeat(55)}-0-`);
});

test("an indexed job fills the gaps, deletes doubles and strangers, and writes down what is complete", async () => {
  const w = world();
  const job = have(
    w,
    { completionMode: "Indexed", completions: 8, parallelism: 4 },
    { status: { completedIndexes: "0", succeeded: 1 } },
  );
  const indexed = (name: string, at: number | undefined, phase: string) =>
    pod(w, job, name, { phase, ...(at !== undefined && { index: at }) });
  for (const at of [2, 3, 5]) indexed(`done-${at}`, at, "Succeeded");
  indexed("again-0", 0, "Succeeded");
  indexed("beyond", 9, "Succeeded");
  indexed("a-1", 1, "Running");
  indexed("b-1", 1, "Pending");
  indexed("none", undefined, "Running");
  indexed("stranger", 8, "Running");
  const one = jobController();
  await w.reconcile(one, job);
  assert.deepEqual(
    w.writes().filter((line) => line.startsWith("delete")),
    ["delete Pod b-1", "delete Pod none", "delete Pod stranger"],
  );
  assert.equal(statusOf(w).completedIndexes, "0,2,3,5");
  assert.equal(counts(w), "1 0 3 4 0");
  await w.reconcile(one, job);
  const made = w.list(Pod).filter(({ metadata }) => metadata.generateName?.startsWith("sum-"));
  assert.deepEqual(made.map(({ metadata }) => metadata.annotations?.[index]).sort(), ["4", "6", "7"]);
});

test("an indexed job that got smaller forgets indexes it no longer has", async () => {
  const w = world();
  const job = have(
    w,
    { completionMode: "Indexed", completions: 3, parallelism: 3 },
    { status: { completedIndexes: "0,2-5", succeeded: 5 } },
  );
  await w.reconcile(jobController(), job);
  assert.deepEqual([statusOf(w).completedIndexes, statusOf(w).succeeded, statusOf(w).active], ["0,2", 2, 1]);
});

test("failures make a job wait, longer each time, and successes make it forget them", async () => {
  const w = world({ now: "2026-01-01T00:00:05Z" });
  const one = jobController();
  const job = have(w, { parallelism: 1, completions: 5 });
  const waits: unknown[] = [];
  for (const [i, second] of [5, 30, 60].entries()) {
    const at = `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`.replace(":60Z", ":59Z");
    w.clock.jumpTo(Date.parse(at));
    for (const { metadata } of w.list(Pod)) w.lose(Pod, metadata);
    pod(w, job, `f${i}`, { phase: "Failed", status: exited(1, at) });
    waits.push(await w.reconcile(one, job));
  }
  assert.deepEqual(waits, [{ afterMs: 10_000 }, { afterMs: 20_000 }, { afterMs: 40_000 }]);
  assert.equal(counts(w), "0 0 0 0 3");
  assert.deepEqual(await w.reconcile(one, job), { afterMs: 40_000 }, "with the failed pod counted, the wait stays");
  await w.clock.advance(40_000);
  assert.equal(await w.reconcile(one, job), undefined);
  assert.equal(counts(w), "1 0 0 0 3");
  const [running] = w.list(Pod).filter(({ status }) => status.phase !== "Failed");
  w.have(Pod, { ...running!, status: { phase: "Succeeded", ...exited(0, "2026-01-01T00:01:39Z") } } as never);
  await w.reconcile(one, job);
  assert.equal(counts(w), "1 0 0 1 3");
});

test("a clock that is set back does not make the wait longer than it would have been", async () => {
  const w = world({ now: start });
  const job = have(w, {});
  pod(w, job, "f", { phase: "Failed", status: exited(1, "2026-01-01T05:00:00Z") });
  assert.deepEqual(await w.reconcile(jobController(), job), { afterMs: 10_000 });
});

test("a job does not end before it began, whatever the clock says", async () => {
  const w = world();
  const job = have(w, {}, { status: { startTime: "2026-01-01T03:00:00Z" } });
  crowd(w, job, "1 succeeded");
  await w.reconcile(jobController(), job);
  assert.equal(statusOf(w).completionTime, "2026-01-01T03:00:00Z");
});

test("a job that is suspended may end, and has a start then", async () => {
  const w = world();
  const job = have(w, { suspend: true, completions: 0 }, { status: { startTime: undefined } });
  await w.reconcile(jobController(), job);
  assert.deepEqual([statusOf(w).startTime, statusOf(w).completionTime], [start, start]);
});

test("restarts in place count against the limit", async () => {
  const restarted = (restartCount: number) => ({
    containerStatuses: [{ name: "c", restartCount, image: "", imageID: "", ready: false }],
  });
  const onFailure = { template: { ...template, spec: { ...template.spec, restartPolicy: "OnFailure" } } };
  for (const [limit, restarts, fails] of [
    [0, 0, false],
    [0, 1, true],
    [3, 2, false],
    [3, 3, true],
  ] as const) {
    const w = world();
    const job = have(w, { ...onFailure, backoffLimit: limit });
    pod(w, job, "a", { phase: "Running", status: restarted(restarts) });
    await w.reconcile(jobController(), job);
    assert.equal(conditions(w).includes("FailureTarget=True BackoffLimitExceeded"), fails, `${restarts} of ${limit}`);
  }
});

test("a job looks again when its time is over, and then fails", async () => {
  const w = world({ now: "2026-01-01T00:00:07Z" });
  const job = have(w, { activeDeadlineSeconds: 10 });
  pod(w, job, "a", { phase: "Running" });
  const one = jobController();
  assert.deepEqual(await w.reconcile(one, job), { afterMs: 3000 });
  await w.clock.advance(3000);
  assert.equal(await w.reconcile(one, job), undefined);
  assert.deepEqual(conditions(w), ["FailureTarget=True DeadlineExceeded"]);
  assert.deepEqual(w.events(), ["Normal SuccessfulDelete Deleted pod: a"]);
  assert.deepEqual(w.list(Pod), [], "its finalizer was taken, so it is gone");
  await w.reconcile(one, job);
  assert.deepEqual(conditions(w), ["FailureTarget=True DeadlineExceeded", "Failed=True DeadlineExceeded"]);
  assert.deepEqual(w.events(), ["Warning DeadlineExceeded Job was active longer than specified deadline"]);
  assert.equal(counts(w), "0 0 0 0 1");
});

test("a job that is suspended loses its pods uncounted and its start, and begins anew when it goes on", async () => {
  const w = world({ now: "2026-01-01T01:00:00Z" });
  const one = jobController();
  const job = have(w, { suspend: true, parallelism: 2, completions: 2, activeDeadlineSeconds: 60 });
  crowd(w, job, "1 active, 1 ready");
  await w.reconcile(one, job);
  assert.equal(count(w.writes(), "delete Pod"), 2);
  assert.equal(counts(w), "0 0 2 0 0");
  assert.equal(statusOf(w).startTime, undefined);
  assert.deepEqual(conditions(w), ["Suspended=True JobSuspended"]);
  assert.ok(w.events().includes("Normal Suspended Job suspended"));
  await w.reconcile(one, job);
  assert.deepEqual(w.events(), []);
  await w.clock.advance(600_000);
  const now = w.get(Job, job.metadata)!;
  w.have(Job, { ...now, spec: { ...now.spec, suspend: false } });
  w.writes();
  assert.deepEqual(await w.reconcile(one, job), { afterMs: 60_000 });
  assert.equal(count(w.writes(), "create Pod"), 2);
  assert.deepEqual(conditions(w), ["Suspended=False JobResumed"]);
  assert.equal(statusOf(w).startTime, "2026-01-01T01:10:00Z");
  assert.ok(w.events().includes("Normal Resumed Job resumed"));
});

test("a job that was never suspended is not said to be resumed", async () => {
  const w = world();
  await w.reconcile(jobController(), have(w, {}));
  assert.deepEqual(conditions(w), []);
});

const policy = (...rules: object[]) => ({ podFailurePolicy: { rules } });
const onCode = (action: string, operator: string, values: number[], containerName?: string) => ({
  action,
  onExitCodes: { operator, values, ...(containerName && { containerName }) },
});
const onCondition = (action: string, type: string) => ({ action, onPodConditions: [{ type, status: "True" }] });

test("the rules of a job decide what a failed pod means", async () => {
  const disrupted = { conditions: [{ type: "DisruptionTarget", status: "True" }] };
  const cases: readonly (readonly [string, object, object, string, string?])[] = [
    ["no rule fits", policy(onCode("FailJob", "In", [42])), exited(1), "counted"],
    ["ignored by code", policy(onCode("Ignore", "In", [1])), exited(1), "ignored"],
    ["not of another container", policy(onCode("Ignore", "In", [1], "d")), exited(1), "counted"],
    [
      "counted before ignored",
      policy(onCode("Count", "In", [1]), onCode("Ignore", "NotIn", [2])),
      exited(1),
      "counted",
    ],
    ["success is no failure", policy(onCode("FailJob", "NotIn", [1])), exited(0), "counted"],
    ["disrupted", policy(onCondition("Ignore", "DisruptionTarget")), { ...exited(143), ...disrupted }, "ignored"],
    [
      "fails by code",
      policy(onCode("Ignore", "In", [3]), onCode("FailJob", "NotIn", [5])),
      exited(2),
      "failed",
      "Container c for pod default/f failed with exit code 2 matching FailJob rule at index 1",
    ],
    [
      "fails by condition",
      policy(onCondition("FailJob", "DisruptionTarget")),
      { ...exited(0), ...disrupted },
      "failed",
      "Pod default/f has condition DisruptionTarget matching FailJob rule at index 0",
    ],
  ];
  for (const [name, spec, status, outcome, message] of cases) {
    const w = world({ now: "2026-01-01T01:00:00Z" });
    const job = have(w, { ...spec, podReplacementPolicy: "Failed" });
    pod(w, job, "f", { phase: "Failed", status });
    const one = jobController();
    await w.reconcile(one, job);
    assert.equal(statusOf(w).failed ?? 0, outcome === "ignored" ? 0 : 1, name);
    assert.equal(count(w.writes(), "create Pod"), outcome === "failed" ? 0 : 1, name);
    const failed = statusOf(w).conditions?.find(({ type }) => type === "Failed");
    assert.equal(failed?.message, message, name);
    if (message) assert.deepEqual(w.events(), [`Warning PodFailurePolicy ${message}`]);
    assert.deepEqual(w.get(Pod, { name: "f" })?.metadata.finalizers ?? [], [], name);
  }
});

test("a job with rules waits for a pod to end before it judges it", async () => {
  const w = world();
  const job = have(w, { ...policy(onCode("FailJob", "In", [1])) });
  pod(w, job, "f", { phase: "Running", metadata: deleted, status: exited(1) });
  await w.reconcile(jobController(), job);
  assert.deepEqual(w.writes(), ["update Job sum/status"]);
  assert.equal(counts(w), "0 0 1 0 0");
});

const perIndex = (more: object = {}) => ({
  completionMode: "Indexed",
  completions: 3,
  parallelism: 3,
  backoffLimitPerIndex: 1,
  ...more,
});

test("an index that fails is tried again in its own time, and what it failed before goes with it", async () => {
  const w = world({ now: "2026-01-01T00:00:04Z" });
  const one = jobController();
  const job = have(w, perIndex());
  pod(w, job, "f", { phase: "Failed", index: 1, annotations: { [failureCount]: "0" }, status: exited(1) });
  await w.reconcile(one, job);
  const made = () => w.list(Pod).filter(({ metadata }) => metadata.generateName?.startsWith("sum-1-"));
  assert.equal(counts(w), "2 0 0 0 0", "the others do not wait; the failed pod is held, not counted");
  assert.equal(statusOf(w).failedIndexes, "");
  assert.deepEqual(await w.reconcile(one, job), { afterMs: 6000 });
  assert.deepEqual(w.get(Pod, { name: "f" })?.metadata.finalizers, finalizers);
  await w.clock.advance(6000);
  await w.reconcile(one, job);
  assert.equal(made()[0]?.metadata.annotations?.[failureCount], "1");
  assert.equal(counts(w), "3 0 0 0 0");
  await w.reconcile(one, job);
  assert.equal(counts(w), "3 0 0 0 1", "with its replacement there, it may go");
  assert.deepEqual(w.get(Pod, { name: "f" })?.metadata.finalizers ?? [], []);
});

test("failures that are ignored are kept apart from those that count", async () => {
  const w = world({ now: "2026-01-01T01:00:00Z" });
  const job = have(w, perIndex({ ...policy(onCode("Ignore", "In", [7])), completions: 1, parallelism: 1 }));
  pod(w, job, "f", {
    phase: "Failed",
    index: 0,
    annotations: { [failureCount]: "1", [ignoredCount]: "2" },
    status: exited(7),
  });
  await w.reconcile(jobController(), job);
  const [made] = w.list(Pod).filter(({ metadata }) => metadata.generateName !== undefined);
  assert.deepEqual(made?.metadata.annotations, { [index]: "0", [failureCount]: "1", [ignoredCount]: "3" });
});

test("indexes fail for good, by their limit or by a rule, and the job with them when nothing is left or too many did", async () => {
  const cases: readonly (readonly [string, object, readonly [number, number, number][], string, readonly string[]])[] =
    [
      ["under the limit", {}, [[1, 0, 1]], "", []],
      ["over the limit", {}, [[1, 1, 1]], "1", []],
      ["by a rule", policy(onCode("FailIndex", "In", [9])), [[2, 0, 9]], "2", []],
      [
        "too many",
        { maxFailedIndexes: 1 },
        [
          [0, 1, 1],
          [1, 1, 1],
        ],
        "0,1",
        ["FailureTarget=True MaxFailedIndexesExceeded", "Failed=True MaxFailedIndexesExceeded"],
      ],
      [
        "all",
        { completions: 2, parallelism: 2 },
        [
          [0, 1, 1],
          [1, 1, 1],
        ],
        "0,1",
        ["FailureTarget=True FailedIndexes", "Failed=True FailedIndexes"],
      ],
    ];
  for (const [name, spec, pods, failedIndexes, wanted] of cases) {
    const w = world({ now: "2026-01-01T00:00:01Z" });
    const job = have(w, perIndex(spec));
    for (const [at, before, code] of pods)
      pod(w, job, `f${at}`, {
        phase: "Failed",
        index: at,
        annotations: { [failureCount]: `${before}` },
        status: exited(code),
      });
    await w.reconcile(jobController(), job);
    assert.equal(statusOf(w).failedIndexes, failedIndexes, name);
    assert.deepEqual(conditions(w), wanted, name);
  }
});

test("a job succeeds early by its success policy, and what still runs is not counted", async () => {
  const cases: readonly (readonly [object, readonly number[], string | undefined])[] = [
    [{ succeededIndexes: "0,2" }, [0], undefined],
    [{ succeededIndexes: "0,2" }, [0, 2], "Matched rules at index 0"],
    [{ succeededIndexes: "0-4", succeededCount: 2 }, [1, 3], "Matched rules at index 0"],
    [{ succeededCount: 3 }, [1, 3], undefined],
    [{ succeededCount: 2 }, [1, 3], "Matched rules at index 0"],
  ];
  for (const [rule, succeeded, message] of cases) {
    const w = world();
    const one = jobController();
    const job = have(w, {
      completionMode: "Indexed",
      completions: 5,
      parallelism: 5,
      successPolicy: { rules: [rule] },
    });
    for (let at = 0; at < 5; at++)
      pod(w, job, `p${at}`, { phase: succeeded.includes(at) ? "Succeeded" : "Running", index: at });
    await w.reconcile(one, job);
    await w.reconcile(one, job);
    const complete = statusOf(w).conditions?.find(({ type }) => type === "Complete");
    assert.deepEqual([complete?.message, complete?.reason], [message, message && "SuccessPolicy"]);
    assert.equal(statusOf(w).failed ?? 0, 0);
    if (message) assert.equal(w.list(Pod).filter(({ status }) => status.phase === "Running").length, 0);
  }
});

test("every pod is counted once, whatever write fails", async () => {
  const error = new ApiError({ code: 500, reason: "InternalError", message: "no" });
  for (let broken = 0; broken < 12; broken++) {
    const w = world({ now: "2026-01-01T02:00:00Z" });
    const one = jobController();
    const job = have(w, { parallelism: 3, completions: 5, backoffLimit: 10 });
    crowd(w, job, "2 succeeded, 2 failed");
    let writes = 0;
    w.fail(({ verb }) => (verb !== "get" && writes++ === broken ? error : undefined));
    for (let round = 0; round < 6; round++) {
      await w.reconcile(one, job).catch((cause: unknown) => assert.equal(cause, error));
      if (round % 2 === 1) {
        for (const { metadata, status } of w.list(Pod))
          if (status.phase === "Succeeded" && !metadata.finalizers?.length) w.lose(Pod, metadata); // as the garbage collector would
      }
    }
    assert.equal(counts(w), "3 0 0 2 2", `write ${broken} fails`);
    assert.deepEqual(statusOf(w).uncountedTerminatedPods, {});
  }
});

test("pods that were written down and are gone are counted", async () => {
  const w = world();
  const uncountedTerminatedPods = { succeeded: ["a", "b"], failed: ["c"] };
  const job = have(
    w,
    { completions: 4, parallelism: 1 },
    { status: { uncountedTerminatedPods, succeeded: 1, failed: 1 } },
  );
  pod(w, job, "p", { phase: "Succeeded", metadata: { uid: "b" }, counted: true });
  await w.reconcile(jobController(), job);
  assert.equal(counts(w), "1 0 0 3 2");
});

test("at most 500 pods are written down at once, and the job does not end before the rest", async () => {
  const w = world();
  const one = jobController();
  const job = have(w, { completions: 700, parallelism: 700 });
  crowd(w, job, "700 succeeded");
  await w.reconcile(one, job);
  assert.equal(counts(w), "0 0 0 500 0");
  assert.deepEqual(conditions(w), ["SuccessCriteriaMet=True CompletionsReached"]);
  await w.reconcile(one, job);
  assert.equal(counts(w), "0 0 0 700 0");
  assert.deepEqual(conditions(w), done);
});

test("a job that is being deleted makes no pods, and frees those it has", async () => {
  const w = world();
  const job = have(
    w,
    { parallelism: 3, completions: 3 },
    { metadata: { deletionTimestamp: start, finalizers: ["foregroundDeletion"] } },
  );
  crowd(w, job, "1 active, 1 succeeded");
  await w.reconcile(jobController(), job);
  assert.equal(count(w.writes(), "create Pod"), 0);
  assert.equal(counts(w), "1 0 0 1 0");
  assert.ok(w.list(Pod).every(({ metadata }) => !metadata.finalizers?.length));
});

test("pods are adopted with the finalizer, and released without it", async () => {
  const w = world();
  const job = have(w, { parallelism: 2, completions: 2 });
  w.have(Pod, { metadata: { name: "orphan", labels } });
  pod(w, job, "relabeled", { metadata: { labels: { app: "other" } } });
  await w.reconcile(jobController(), job);
  const [orphan, relabeled] = ["orphan", "relabeled"].map((name) => w.get(Pod, { name })!.metadata);
  assert.deepEqual([orphan?.ownerReferences?.[0]?.uid, orphan?.finalizers], [job.metadata.uid, finalizers]);
  assert.deepEqual([relabeled?.ownerReferences ?? [], relabeled?.finalizers ?? []], [[], []]);
  assert.equal(counts(w), "2 0 0 0 0");
});

test("a job that is over, or another's, is left alone", async () => {
  const w = world();
  const over = { conditions: [{ type: "Failed", status: "True" }] };
  have(w, {}, { metadata: { name: "over" }, status: over });
  have(w, { managedBy: "acme.io/jobs" }, { metadata: { name: "theirs" } });
  const ours = have(w, { managedBy: "kubernetes.io/job-controller" }, { metadata: { name: "ours" } });
  for (const job of w.list(Job)) await w.reconcile(jobController(), job);
  assert.deepEqual(w.writes(), ["create Pod ours-", `update Job ${ours.metadata.name}/status`]);
});

test("creation stops at the first batch that fails, and what was made is told", async () => {
  const w = world();
  const job = have(w, { parallelism: 20, completions: 20 });
  const error = new ApiError({ code: 403, reason: "Forbidden", message: "exceeded quota" });
  let allowed = 5;
  w.fail(({ verb, resource }) => (verb === "create" && resource === "pods" && --allowed < 0 ? error : undefined));
  await assert.rejects(w.reconcile(jobController(), job), error);
  assert.equal(counts(w), "5 0 0 0 0");
  assert.ok(w.events().includes("Warning FailedCreate Error creating: exceeded quota"));
});

test("a job does not end while a pod cannot be deleted", async () => {
  const w = world();
  const one = jobController();
  const job = have(w, { parallelism: 2, completions: 5, backoffLimit: 0 });
  crowd(w, job, "1 active, 1 failed");
  const error = new ApiError({ code: 500, reason: "InternalError", message: "no" });
  w.fail(({ verb }) => (verb === "delete" ? error : undefined));
  await assert.rejects(w.reconcile(one, job), /unable to delete pods/);
  assert.deepEqual(conditions(w), []);
  assert.equal(counts(w), "1 0 0 0 1");
  w.fail(() => undefined);
  await w.reconcile(one, job);
  await w.reconcile(one, job);
  assert.deepEqual(conditions(w), ["FailureTarget=True BackoffLimitExceeded", "Failed=True BackoffLimitExceeded"]);
});

test("pods are freed when nobody will count them", async () => {
  const cases: readonly (readonly [string, (w: ClientWorld) => Pod, boolean])[] = [
    ["of a job that runs", (w) => pod(w, have(w, {}), "p", { metadata: deleted }), false],
    [
      "of a job that is over",
      (w) => pod(w, have(w, {}, { status: { conditions: [{ type: "Complete", status: "True" }] } }), "p"),
      true,
    ],
    [
      "of a job of another controller",
      (w) =>
        pod(
          w,
          have(w, { managedBy: "a.io/b" }, { status: { conditions: [{ type: "Complete", status: "True" }] } }),
          "p",
        ),
      false,
    ],
    [
      "of a job not known yet",
      (w) => pod(w, { ...have(w, {}), metadata: { name: "young", uid: "y" } } as Job, "p"),
      false,
    ],
    [
      "of a job that is gone",
      (w) => pod(w, { ...have(w, {}), metadata: { name: "old", uid: "o" } } as Job, "p", { metadata: deleted }),
      true,
    ],
    [
      "of a job of the same name that is gone",
      (w) => pod(w, { ...have(w, {}), metadata: { name: "sum", uid: "o" } } as Job, "p", { metadata: deleted }),
      true,
    ],
    ["of nobody", (w) => w.have(Pod, { metadata: { name: "p", finalizers } }), true],
    [
      "of another kind",
      (w) =>
        w.have(Pod, {
          metadata: {
            name: "p",
            finalizers,
            deletionTimestamp: start,
            ownerReferences: [{ apiVersion: "acme.io/v1", kind: "Job", name: "x", uid: "x", controller: true }],
          },
        }),
      false,
    ],
  ];
  for (const [name, make, isFreed] of cases) {
    const w = world();
    await w.reconcile(jobOrphanController, make(w));
    assert.deepEqual(w.writes(), isFreed ? ["patch Pod p"] : [], name);
  }
});
