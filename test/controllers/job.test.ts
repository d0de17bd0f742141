import assert from "node:assert/strict";
import { test } from "node:test";
import { CronJob } from "#api/batch/v1/cron-job.ts";
import { Job } from "#api/batch/v1/job.ts";
import { Binding } from "#api/core/v1/binding.ts";
import { Event } from "#api/core/v1/event.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ApiError } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { fixedDiscovery } from "#client/discovery.ts";
import { cronJobController } from "../../src/controllers/cronjob/cronjob.ts";
import { GarbageCollector } from "../../src/controllers/garbage/collector.ts";
import { jobController } from "../../src/controllers/job/job.ts";
import { jobOrphanController } from "../../src/controllers/job/orphans.ts";
import { type TestCluster, type TestClusterOptions, testCluster } from "./cluster.ts";
import { endPods } from "./pods.ts";

const namespace = "default";
const sum = { namespace, name: "sum" };
const indexLabel = "batch.kubernetes.io/job-completion-index";
const serviceAccounts = {
  job: "job-controller",
  "job-orphan-pod": "job-controller",
  cronjob: "cronjob-controller",
};
const template = { spec: { restartPolicy: "Never" as const, containers: [{ name: "c", image: "i" }] } };
const started = (options: Partial<TestClusterOptions> = {}) =>
  testCluster({
    controllers: [jobController(), jobOrphanController, cronJobController()],
    serviceAccounts,
    ...options,
  });
const create = ({ client }: TestCluster, spec: object) =>
  client.create(Job, { metadata: sum, spec: { template, ...spec } } as Parameters<typeof client.create<typeof Job>>[1]);

const condition = async ({ client }: TestCluster, type: string) =>
  (await client.get(Job, sum)).status.conditions?.find((one) => one.type === type && one.status === "True");

/** Runs pods until the job has this condition. */
const ends = (cluster: TestCluster, type: string, verdict: (pod: Pod) => number | undefined, steps = 3000) =>
  cluster.until(async () => {
    await endPods(cluster, verdict);
    return (await condition(cluster, type)) !== undefined;
  }, steps);
const reasons = async ({ client, until }: TestCluster, last: string) => {
  const all = async () => (await client.list(Event)).items.map(({ reason }) => reason);
  await until(async () => (await all()).includes(last));
  return new Set(await all());
};
const isFree = ({ metadata }: Pod) => !metadata.finalizers?.includes("batch.kubernetes.io/job-tracking");

test("an indexed job tries each index in its own time, and ends with what succeeded and what did not", async () => {
  await using cluster = await started();
  await create(cluster, {
    completionMode: "Indexed",
    completions: 6,
    parallelism: 3,
    backoffLimitPerIndex: 1,
  });
  const tries = new Map<string, number>();
  await ends(cluster, "Failed", ({ metadata }) => {
    const index = metadata.labels?.[indexLabel] ?? "";
    const before = tries.get(index) ?? 0;
    tries.set(index, before + 1);
    return index === "2" || (index === "4" && before === 0) ? 1 : 0;
  });
  const { status, metadata } = await cluster.client.get(Job, sum);
  const { completedIndexes, failedIndexes, succeeded, failed, active, terminating, uncountedTerminatedPods } = status;
  assert.deepEqual(
    { completedIndexes, failedIndexes, succeeded, failed, active, terminating, uncountedTerminatedPods },
    {
      completedIndexes: "0,1,3-5",
      failedIndexes: "2",
      succeeded: 5,
      failed: 3,
      active: undefined,
      terminating: 0,
      uncountedTerminatedPods: {},
    },
  );
  assert.deepEqual(
    status.conditions?.map(({ type, reason, message }) => [type, reason, message]),
    ["FailureTarget", "Failed"].map((type) => [type, "FailedIndexes", "Job has failed indexes"]),
  );
  assert.deepEqual(Object.fromEntries(tries), { 0: 1, 1: 1, 2: 2, 3: 1, 4: 2, 5: 1 });
  const { items } = await cluster.client.list(Pod);
  assert.ok(items.every(isFree));
  assert.ok(items.every((pod) => pod.metadata.labels?.["batch.kubernetes.io/controller-uid"] === metadata.uid));
  assert.ok((await reasons(cluster, "FailedIndexes")).has("SuccessfulCreate"));
});

test("with every fifth request failing, every pod that ends is counted once", async () => {
  const random = seededRandom(3);
  await using cluster = await started({
    transport:
      ({ server }) =>
      async (request) => {
        const roll = random.next();
        if (roll < 0.1) throw new ApiError({ code: 500, reason: "InternalError", message: "injected" });
        const response = await server.request(request);
        // the write is done, its answer is lost
        if (roll < 0.2) throw new ApiError({ code: 503, reason: "ServiceUnavailable", message: "injected" });
        return response;
      },
  });
  await create(cluster, { completions: 30, parallelism: 8, backoffLimit: 100 });
  const ended = new Map<string, number>();
  await ends(cluster, "Complete", ({ metadata }) => {
    const code = random.next() < 0.2 ? 1 : 0;
    ended.set(metadata.uid ?? "", code);
    return code;
  });
  const codes = [...ended.values()];
  const { succeeded = 0, failed = 0, uncountedTerminatedPods } = (await cluster.client.get(Job, sum)).status;
  assert.deepEqual([succeeded, failed], [codes.filter((code) => code === 0).length, codes.filter(Boolean).length]);
  assert.ok(succeeded >= 30);
  assert.deepEqual(uncountedTerminatedPods, {});
  await cluster.until(async () => (await cluster.client.list(Pod)).items.every(isFree));
});

test("rules decide: disruptions are not counted, and one exit code fails the job", async () => {
  await using cluster = await started();
  const { client } = cluster;
  await create(cluster, {
    completions: 3,
    parallelism: 1,
    backoffLimit: 0,
    podFailurePolicy: {
      rules: [
        { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
        { action: "FailJob", onExitCodes: { operator: "In", values: [42] } },
      ],
    },
  });
  let disruptions = 0;
  await cluster.until(async () => {
    for (const pod of (await client.list(Pod)).items) {
      if (pod.status.phase !== "Pending" || disruptions >= 2) continue;
      disruptions++;
      const conditions = [{ type: "DisruptionTarget", status: "True" }];
      await client.update(Pod, { ...pod, status: { ...pod.status, phase: "Failed", conditions } }, "status");
    }
    return disruptions === 2;
  }, 1000);
  await ends(cluster, "Failed", () => 42);
  const { status } = await client.get(Job, sum);
  assert.deepEqual([status.failed, status.succeeded], [1, undefined]);
  const { reason, message = "" } = (await condition(cluster, "Failed"))!;
  assert.equal(reason, "PodFailurePolicy");
  assert.match(
    message,
    /^Container c for pod default\/sum-\w{5} failed with exit code 42 matching FailJob rule at index 1$/,
  );
});

test("a job that is suspended has no pods and no start, and its deadline counts from when it goes on", async () => {
  await using cluster = await started();
  const { client, server, until } = cluster;
  await create(cluster, { completions: 2, parallelism: 2, activeDeadlineSeconds: 60 });
  const never = () => undefined;
  const alive = async () => (await client.list(Pod)).items.length;
  await until(async () => (await alive()) === 2);
  await client.patch(Job, sum, "merge", { spec: { suspend: true } });
  await ends(cluster, "Suspended", never);
  await until(async () => (await alive()) === 0 && (await client.get(Job, sum)).status.terminating === 0);
  const paused = (await client.get(Job, sum)).status;
  assert.deepEqual([paused.startTime, paused.active, paused.failed], [undefined, undefined, undefined]);
  await server.clock.advance(1_800_000);
  assert.equal(await condition(cluster, "Failed"), undefined);
  await client.patch(Job, sum, "merge", { spec: { suspend: false } });
  const resumed = server.clock.now();
  await until(async () => (await alive()) === 2);
  await ends(cluster, "Failed", never);
  const late = server.clock.now() - resumed;
  assert.ok(late >= 60_000 && late < 70_000, `failed after ${late} ms`);
  assert.equal((await condition(cluster, "Failed"))?.reason, "DeadlineExceeded");
  const seen = await reasons(cluster, "DeadlineExceeded");
  assert.ok(["Suspended", "Resumed", "SuccessfulDelete"].every((reason) => seen.has(reason)));
});

test("a job is replaced only by what waits for its end, and ends only when its pods have", async () => {
  await using cluster = await started();
  const { client, until } = cluster;
  await create(cluster, { completions: 1, podReplacementPolicy: "Failed", backoffLimit: 0 });
  const pods = async () => (await client.list(Pod)).items;
  await until(async () => (await pods()).length === 1);
  const [pod] = await pods();
  await client.create(
    Binding,
    { metadata: { name: pod!.metadata.name, namespace }, target: { kind: "Node", name: "n" } },
    { of: Pod, subresource: "binding" },
  );
  await client.delete(Pod, pod!.metadata);
  await until(async () => (await client.get(Job, sum)).status.terminating === 1);
  await cluster.server.clock.advance(20_000);
  assert.equal((await pods()).length, 1, "what is still ending is not replaced");
  await endPods(cluster, () => 1);
  await ends(cluster, "Failed", () => 1);
  assert.deepEqual((await client.get(Job, sum)).status.failed, 1);
});

test("the pods of a job go with it, and those it leaves behind are free", async () => {
  await using cluster = await started({
    components: ({ client, informers, server }) => [
      new GarbageCollector({
        client,
        informers,
        discovery: fixedDiscovery([Job, Pod]),
        clock: server.clock,
        log: silentLog,
      }),
    ],
  });
  const { client, until } = cluster;
  const pods = async () => (await client.list(Pod)).items;
  for (const propagation of ["Background", "Foreground", "Orphan"] as const) {
    await create(cluster, { completions: 3, parallelism: 3 });
    await until(async () => (await pods()).length === 3);
    await client.delete(Job, sum, { propagation });
    await until(async () => (await client.find(Job, sum)) === undefined);
    const left = propagation === "Orphan" ? 3 : 0;
    await until(async () => (await pods()).length === left && (await pods()).every(isFree), 600);
  }
});

test("a cron job keeps to the clocks of its place when they are set", async () => {
  const run = async (from: string, hours: number) => {
    await using cluster = await started();
    const { client, server } = cluster;
    server.clock.jumpTo(Date.parse(from));
    const schedule = { schedule: "30 2 * * *", timeZone: "Europe/Oslo", successfulJobsHistoryLimit: 10 };
    const metadata = { namespace, name: "night" };
    await client.create(CronJob, { metadata, spec: { ...schedule, jobTemplate: { spec: { template } } } });
    for (let half = 0; half < 2 * hours; half++) {
      await server.clock.advance(1_800_000);
      await cluster.until(async () => {
        await endPods(cluster, () => 0);
        return (await client.list(Job)).items.every(({ status }) => status.completionTime !== undefined);
      });
    }
    const jobs = (await client.list(Job)).items;
    const { status } = await client.get(CronJob, metadata);
    assert.equal(status.active, undefined);
    assert.ok(status.lastSuccessfulTime);
    return jobs.map((job) => job.metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"]).sort();
  };
  assert.deepEqual(await run("2026-03-28T00:00:00Z", 72), [
    "2026-03-28T02:30:00+01:00",
    "2026-03-30T02:30:00+02:00", // on the 29th there is no half past two
  ]);
  assert.deepEqual(await run("2026-10-24T12:00:00Z", 48), [
    "2026-10-25T02:30:00+01:00",
    "2026-10-25T02:30:00+02:00", // twice
    "2026-10-26T02:30:00+01:00",
  ]);
});

test("a cron job that replaces keeps one job, and one that forbids waits for it", async () => {
  for (const [concurrencyPolicy, most] of [
    ["Replace", 1],
    ["Forbid", 1],
    ["Allow", 3],
  ] as const) {
    await using cluster = await started({
      components: ({ client, informers, server }) => [
        new GarbageCollector({
          client,
          informers,
          discovery: fixedDiscovery([CronJob, Job, Pod]),
          clock: server.clock,
          log: silentLog,
        }),
      ],
    });
    const { client, server, until } = cluster;
    const metadata = { namespace, name: "tick" };
    await client.create(CronJob, {
      metadata,
      spec: { schedule: "* * * * *", concurrencyPolicy, jobTemplate: { spec: { template } } },
    });
    await server.clock.advance(185_000);
    const active = async () => (await client.get(CronJob, metadata)).status.active ?? [];
    await until(async () => {
      await endPods(cluster, () => undefined);
      return (await active()).length === most && (await client.list(Job)).items.length === most;
    });
    const names = (await active()).map(({ name }) => Number(name?.slice("tick-".length)) * 60_000);
    const newest = names.sort().at(-1)!;
    assert.ok(
      concurrencyPolicy === "Forbid" ? newest < server.clock.now() - 60_000 : newest > server.clock.now() - 90_000,
    );
  }
});
