import assert from "node:assert/strict";
import { test } from "node:test";
import { CronJob } from "#api/batch/v1/cron-job.ts";
import { Job } from "#api/batch/v1/job.ts";
import { ApiError } from "#base/errors.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { cronJobController } from "./cronjob.ts";

const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } };
const created = "2026-01-01T09:00:00Z";
const last = "2026-01-01T10:00:00Z";
const have = (w: ClientWorld, spec: object = {}, status: object = {}, metadata: object = {}) =>
  w.have(CronJob, {
    metadata: { name: "tick", creationTimestamp: created, ...metadata },
    spec: { schedule: "0 * * * *", jobTemplate: { metadata: { labels: { a: "b" } }, spec: { template } }, ...spec },
    status,
  } as Parameters<typeof w.have<typeof CronJob>>[1]);
const minutes = (time: string) => Date.parse(time) / 60_000;
const jobAt = (time: string) => `tick-${minutes(time)}`;

interface JobOptions {
  readonly ended?: "Complete" | "Failed";
  readonly startTime?: string;
  readonly completionTime?: string;
}
const haveJob = (w: ClientWorld, owner: CronJob, name: string, { ended, startTime, completionTime }: JobOptions = {}) =>
  w.have(
    Job,
    {
      metadata: { name },
      status: { startTime, completionTime, ...(ended && { conditions: [{ type: ended, status: "True" }] }) },
    } as Parameters<typeof w.have<typeof Job>>[1],
    { ownedBy: owner },
  );
const refer = ({ metadata: { name, namespace, uid } }: Job) => ({
  kind: "Job",
  apiVersion: "batch/v1",
  name,
  namespace,
  uid,
});
const statusOf = (w: ClientWorld) => w.get(CronJob, { name: "tick" })!.status;
const activeNames = (w: ClientWorld) => (statusOf(w).active ?? []).map(({ name }) => name);
const at = (time: string) => world({ now: time });

test("a job is started when it is due, with the time in its name and its annotations", async () => {
  const w = at("2026-01-01T11:00:00.100Z");
  const cronJob = have(w, { timeZone: "America/New_York" }, { lastScheduleTime: last });
  assert.deepEqual(await w.reconcile(cronJobController(), cronJob), { afterMs: 3_600_000 });
  const name = jobAt("2026-01-01T11:00:00Z");
  assert.deepEqual(w.writes(), [`create Job ${name}`, "update CronJob tick/status"]);
  assert.deepEqual(w.events(), [`Normal SuccessfulCreate Created job ${name}`]);
  const [job] = w.list(Job);
  assert.deepEqual(job?.metadata.labels, { a: "b" });
  assert.deepEqual(job?.metadata.annotations, {
    "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T06:00:00-05:00",
  });
  assert.deepEqual(
    job?.metadata.ownerReferences?.map(({ kind, uid }) => [kind, uid]),
    [["CronJob", cronJob.metadata.uid]],
  );
  assert.equal(job?.spec.template.spec.containers[0]?.image, "i");
  assert.equal(statusOf(w).lastScheduleTime, "2026-01-01T11:00:00Z");
  const { resourceVersion, ...reference } = statusOf(w).active![0]!;
  assert.deepEqual(reference, refer(job!));
  assert.equal(resourceVersion, job?.metadata.resourceVersion);
  assert.deepEqual(await w.reconcile(cronJobController(), cronJob), { afterMs: 3_600_000 });
  assert.deepEqual(w.writes(), []);
});

interface Case {
  readonly now: string;
  readonly spec?: object;
  readonly status?: object;
  readonly metadata?: object;
  readonly starts?: string;
  readonly afterMs?: number;
  readonly events?: readonly string[];
}
const minute = 60_000;
const table: Readonly<Record<string, Case>> = {
  "is not due yet": { now: "2026-01-01T09:30:00Z", afterMs: 30 * minute + 100 },
  "is due for the first time": { now: "2026-01-01T10:00:01Z", starts: "2026-01-01T10:00:00Z", afterMs: 3_599_100 },
  "was started already": {
    now: "2026-01-01T10:30:00Z",
    status: { lastScheduleTime: last },
    afterMs: 30 * minute + 100,
  },
  "missed a few starts, and makes up for the last": {
    now: "2026-01-01T15:20:00Z",
    status: { lastScheduleTime: last },
    starts: "2026-01-01T15:00:00Z",
    afterMs: 40 * minute + 100,
  },
  "missed very many": {
    now: "2026-02-01T00:00:30Z",
    status: { lastScheduleTime: last },
    starts: "2026-02-01T00:00:00Z",
    afterMs: 3_570_100,
    events: [
      "Warning TooManyMissedTimes too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
    ],
  },
  "missed very many, of which its deadline hides all but a few": {
    now: "2026-02-01T00:00:30Z",
    spec: { startingDeadlineSeconds: 7200 },
    status: { lastScheduleTime: last },
    starts: "2026-02-01T00:00:00Z",
    afterMs: 3_570_100,
  },
  "missed its deadline": {
    now: "2026-01-01T11:30:00Z",
    spec: { startingDeadlineSeconds: 60 },
    status: { lastScheduleTime: last },
    afterMs: 30 * minute + 100,
  },
  "has an irregular schedule, and is looked at after the distance of two starts": {
    now: "2026-01-04T12:00:00Z", // a Sunday
    spec: { schedule: "30 6-16/4 * * 1-5" },
    status: { lastScheduleTime: "2026-01-02T06:30:00Z" },
    afterMs: Date.parse("2026-01-05T06:30:00Z") - Date.parse("2026-01-04T12:00:00Z") + 100,
  },
  "has an interval": {
    now: "2026-01-08T10:00:00Z",
    spec: { schedule: "@every 1h" },
    status: { lastScheduleTime: "2026-01-01T10:01:00Z" },
    starts: "2026-01-08T09:01:00Z",
    afterMs: minute + 100,
    events: [
      "Warning TooManyMissedTimes too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
    ],
  },
  "is suspended": { now: "2026-01-01T11:00:00Z", spec: { suspend: true } },
  "is being deleted": {
    now: "2026-01-01T11:00:00Z",
    metadata: { deletionTimestamp: "2026-01-01T11:00:00Z", finalizers: ["a/b"] },
  },
  "has a schedule nobody can read": {
    now: "2026-01-01T11:00:00Z",
    spec: { schedule: "obviously invalid schedule" },
    events: [
      'Warning UnparseableSchedule unparseable schedule: "obviously invalid schedule" : expected exactly 5 fields, found 3: [obviously invalid schedule]',
    ],
  },
  "has a schedule that never comes": {
    now: "2026-01-01T11:00:00Z",
    spec: { schedule: "59 23 31 2 *" },
    events: [
      "Warning InvalidSchedule invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second",
    ],
  },
  "is in a place nobody knows": {
    now: "2026-01-01T11:00:00Z",
    spec: { timeZone: "Bad/Zone" },
    events: ['Warning UnknownTimeZone invalid timeZone: "Bad/Zone": unknown time zone Bad/Zone'],
  },
  "has its zone in its schedule": {
    now: "2026-01-01T10:00:00Z",
    spec: { schedule: "TZ=Europe/Oslo 0 11 * * *" },
    starts: "2026-01-01T10:00:00Z",
    afterMs: 24 * 60 * minute + 100,
    events: [
      'Warning UnsupportedSchedule CRON_TZ or TZ used in schedule "TZ=Europe/Oslo 0 11 * * *" is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
    ],
  },
};
for (const [name, { now, spec, status, metadata, starts, afterMs, events = [] }] of Object.entries(table))
  test(`a cron job that ${name}`, async () => {
    const w = at(now);
    const cronJob = have(w, spec, status, metadata);
    const again = await w.reconcile(cronJobController(), cronJob);
    assert.deepEqual(
      w.list(Job).map((job) => job.metadata.name),
      starts ? [jobAt(starts)] : [],
    );
    assert.deepEqual(again, afterMs === undefined ? undefined : { afterMs });
    const started = starts ? [`Normal SuccessfulCreate Created job ${jobAt(starts)}`] : [];
    assert.deepEqual(w.events(), [...events, ...started]);
  });

test("beside a job that runs another is started, or not, or instead", async () => {
  const now = "2026-01-01T11:00:00Z";
  const run = async (concurrencyPolicy: string) => {
    const w = at(now);
    const first = have(w, { concurrencyPolicy }, { lastScheduleTime: last });
    const job = haveJob(w, first, jobAt(last));
    const cronJob = have(
      w,
      { concurrencyPolicy },
      { lastScheduleTime: last, active: [refer(job)] },
      { uid: first.metadata.uid! },
    );
    const again = await w.reconcile(cronJobController(), cronJob);
    return { w, again };
  };
  const allowed = await run("Allow");
  assert.deepEqual(activeNames(allowed.w), [jobAt(last), jobAt(now)]);
  const forbidden = await run("Forbid");
  assert.deepEqual(activeNames(forbidden.w), [jobAt(last)]);
  assert.deepEqual(forbidden.again, { afterMs: 60 * minute + 100 });
  assert.deepEqual(forbidden.w.events(), [
    "Normal JobAlreadyActive Not starting job because prior execution is running and concurrency policy is Forbid",
  ]);
  const replaced = await run("Replace");
  assert.deepEqual(activeNames(replaced.w), [jobAt(now)]);
  assert.deepEqual(replaced.w.events(), [
    `Normal SuccessfulDelete Deleted job ${jobAt(last)}`,
    `Normal SuccessfulCreate Created job ${jobAt(now)}`,
  ]);
});

test("jobs that end leave the list of those that run, and the last success is noted", async () => {
  const w = at("2026-01-01T10:30:00Z");
  const owner = have(w);
  const completionTime = "2026-01-01T10:05:00Z";
  const good = haveJob(w, owner, "good", { ended: "Complete", completionTime });
  haveJob(w, owner, "older", { ended: "Complete", completionTime: "2026-01-01T09:05:00Z" });
  const bad = haveJob(w, owner, "bad", { ended: "Failed" });
  const gone = haveJob(w, owner, "gone");
  w.lose(Job, gone.metadata);
  haveJob(w, owner, "unexpected");
  const active = [good, bad, gone].map(refer);
  const cronJob = have(w, {}, { active, lastScheduleTime: last }, { uid: owner.metadata.uid! });
  await w.reconcile(cronJobController(), cronJob);
  assert.deepEqual(statusOf(w), { lastScheduleTime: last, lastSuccessfulTime: completionTime });
  assert.deepEqual(w.events().toSorted(), [
    "Normal MissingJob Active job went missing: gone",
    "Normal SawCompletedJob Saw completed job: bad, condition: Failed",
    "Normal SawCompletedJob Saw completed job: good, condition: Complete",
    "Warning UnexpectedJob Saw a job that the controller did not create or forgot: unexpected",
  ]);
});

test("of jobs that have ended the oldest go, beyond what is to be kept", async () => {
  const w = at("2026-01-01T10:30:00Z");
  const cronJob = have(w, { successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 0 }, { lastScheduleTime: last });
  for (const [i, ended] of (["Complete", "Complete", "Failed", "Complete", "Complete"] as const).entries())
    haveJob(w, cronJob, `j${i}`, { ended, ...(i !== 0 && { startTime: `2026-01-01T0${i}:00:00Z` }) });
  haveJob(w, cronJob, "running");
  await w.reconcile(cronJobController(), cronJob);
  assert.deepEqual(
    w
      .list(Job)
      .map(({ metadata }) => metadata.name)
      .sort(),
    ["j0", "j4", "running"],
  );
  assert.ok(w.events().includes("Normal SuccessfulDelete Deleted job j1"));
});

test("a job that was started before its start was written down is not started again, but listed", async () => {
  const w = at("2026-01-01T11:00:00Z");
  const cronJob = have(w, {}, { lastScheduleTime: last });
  const error = new ApiError({ code: 500, reason: "InternalError", message: "no" });
  w.fail(({ subresource }) => (subresource === "status" ? error : undefined));
  const one = cronJobController();
  await assert.rejects(w.reconcile(one, cronJob), error);
  w.fail(() => undefined);
  await w.reconcile(one, cronJob);
  assert.deepEqual(activeNames(w), [jobAt("2026-01-01T11:00:00Z")]);
  assert.equal(w.list(Job).length, 1);
});

test("a name that another's job has taken is passed over until the next time", async () => {
  const w = at("2026-01-01T11:00:00Z");
  const cronJob = have(w, {}, { lastScheduleTime: last });
  w.have(Job, { metadata: { name: jobAt("2026-01-01T11:00:00Z") } });
  assert.deepEqual(await w.reconcile(cronJobController(), cronJob), { afterMs: 60 * minute + 100 });
  assert.deepEqual(activeNames(w), []);
});

test("a job that cannot be created is tried again, and told of", async () => {
  const w = at("2026-01-01T11:00:00Z");
  const cronJob = have(w, {}, { lastScheduleTime: last });
  const error = new ApiError({ code: 403, reason: "Forbidden", message: "no jobs here" });
  w.fail(({ verb }) => (verb === "create" ? error : undefined));
  await assert.rejects(w.reconcile(cronJobController(), cronJob), error);
  assert.deepEqual(w.events(), ["Warning FailedCreate Error creating job: no jobs here"]);
});

test("a new schedule does not start what it would have, had it been there before", async () => {
  const w = at("2026-01-01T10:30:00Z");
  const one = cronJobController();
  const cronJob = have(w, {}, { lastScheduleTime: last });
  await w.reconcile(one, cronJob);
  w.have(CronJob, { ...cronJob, spec: { ...cronJob.spec, schedule: "15 * * * *" } });
  assert.deepEqual(await w.reconcile(one, cronJob), { afterMs: 45 * minute + 100 });
  assert.deepEqual(w.list(Job), []);
});
