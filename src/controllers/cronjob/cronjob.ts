// Starts a job whenever the schedule of a CronJob says so, and clears away those that have ended.
// Upstream: pkg/controller/cronjob/cronjob_controllerv2.go.
import { CronJob, type CronJobStatus } from "#api/batch/v1/cron-job.ts";
import { Job } from "#api/batch/v1/job.ts";
import { isTimeZone, parseSchedule } from "#api/batch/v1/schedule.ts";
import type { ObjectReference } from "#api/core/v1/references.ts";
import { equal } from "#base/collections.ts";
import { explain, isReason } from "#base/errors.ts";
import { quote } from "#base/quote.ts";
import { type Again, type Controller, controller, type Reconcile } from "#client/controller.ts";
import { keyOfObject } from "#client/object-key.ts";
import { controlledBy, controllerOf } from "#rules/owners.ts";
import { millisOf, timeOf } from "#schema/time.ts";
import { endCondition } from "../job/conditions.ts";
import { isNamespaceTerminating } from "../pod-writes.ts";
import { type Due, dueStart, NeverDue, nextStartMs, type Timetable } from "./due.ts";
import { formatIn, zoneOf } from "./zone.ts";

const scheduledAnnotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";

export function cronJobController(): Controller<typeof CronJob> {
  // The schedule of each CronJob at its last reconcile: after a change of the schedule, no earlier start is made up for.
  const seen = new Map<string, { readonly uid: string | undefined; readonly schedule: string }>();
  return controller({
    name: "cronjob",
    for: CronJob,
    owns: [Job],

    async reconcile(cronJob, context) {
      const key = keyOfObject(cronJob);
      const { uid } = cronJob.metadata;
      const schedule = `${cronJob.spec.schedule} ${cronJob.spec.timeZone ?? ""}`;
      const before = seen.get(key);
      seen.set(key, { uid, schedule });
      return reconcileCronJob(new Work(cronJob, context), before?.uid === uid && before?.schedule !== schedule);
    },
    async gone({ namespace, name }) {
      seen.delete(keyOfObject({ metadata: { namespace, name } }));
    },
  });
}

/** One look at a CronJob: its status as it becomes, which is written once, at the end. */
class Work {
  readonly cronJob: CronJob;
  readonly context: Reconcile;
  status: CronJobStatus;

  constructor(cronJob: CronJob, context: Reconcile) {
    this.cronJob = cronJob;
    this.context = context;
    this.status = cronJob.status;
  }

  get active(): readonly ObjectReference[] {
    return this.status.active ?? [];
  }

  has(uid: string | undefined): boolean {
    return this.active.some((one) => one.uid === uid);
  }

  drop(uid: string | undefined): void {
    const active = this.active.filter((one) => one.uid !== uid);
    this.status = { ...this.status, active: active.length > 0 ? active : undefined };
  }
}

async function reconcileCronJob(work: Work, isNewSchedule: boolean): Promise<Again | undefined> {
  const { cronJob, context } = work;
  const { client, cache } = context;
  const jobs = cache.owned(Job, cronJob);
  await clearHistory(work, jobs);
  let again: Again | undefined;
  let failure: unknown;
  try {
    await followJobs(work, jobs);
    const table = cronJob.metadata.deletionTimestamp === undefined ? timetable(work) : undefined;
    if (table) again = await keepTime(work, table, isNewSchedule);
  } catch (error) {
    failure = error;
  }
  if (!equal(work.status, cronJob.status)) await client.update(CronJob, { ...cronJob, status: work.status }, "status");
  if (failure !== undefined) throw failure;
  return again;
}

/** Deletes the oldest finished jobs beyond the history limits. */
async function clearHistory(work: Work, jobs: readonly Job[]): Promise<void> {
  const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = work.cronJob.spec;
  const ended = Map.groupBy(jobs, (job) => endCondition(job)?.type);
  for (const [type, limit] of [
    ["Complete", successfulJobsHistoryLimit],
    ["Failed", failedJobsHistoryLimit],
  ] as const) {
    const all = (ended.get(type) ?? []).toSorted(byStart);
    for (const job of all.slice(0, Math.max(0, all.length - limit))) await deleteJob(work, job);
  }
}

/** Those that never started come last. */
function byStart(a: Job, b: Job): number {
  const startOf = ({ status }: Job) =>
    status.startTime === undefined ? Number.POSITIVE_INFINITY : millisOf(status.startTime);
  const [one, other] = [startOf(a), startOf(b)];
  return one === other ? (a.metadata.name < b.metadata.name ? -1 : 1) : one - other;
}

async function deleteJob(work: Work, { metadata }: Job): Promise<boolean> {
  const { client, event } = work.context;
  try {
    await client.delete(Job, metadata, { propagation: "Background" });
  } catch (error) {
    event("Warning", "FailedDelete", `Deleted job: ${explain(error)}`);
    return false;
  }
  work.drop(metadata.uid);
  event("Normal", "SuccessfulDelete", `Deleted job ${metadata.name}`);
  return true;
}

/** Updates the list of active jobs: some have finished, others are new or were deleted. */
async function followJobs(work: Work, jobs: readonly Job[]): Promise<void> {
  const { client, event } = work.context;
  for (const job of jobs) {
    const { name, uid } = job.metadata;
    const end = endCondition(job);
    if (end) {
      if (work.has(uid)) {
        work.drop(uid);
        event("Normal", "SawCompletedJob", `Saw completed job: ${name}, condition: ${end.type}`);
      }
      if (end.type === "Complete") noteSuccess(work, job);
    } else if (!work.has(uid))
      event("Warning", "UnexpectedJob", `Saw a job that the controller did not create or forgot: ${name}`);
  }
  const known = new Set(jobs.map(({ metadata }) => metadata.uid));
  for (const { uid, namespace, name = "" } of work.active) {
    if (known.has(uid ?? "") || (await client.find(Job, { namespace, name }))) continue;
    event("Normal", "MissingJob", `Active job went missing: ${name}`);
    work.drop(uid);
  }
}

function noteSuccess(work: Work, { status: { completionTime } }: Job): void {
  const { lastSuccessfulTime } = work.status;
  if (completionTime === undefined) return;
  if (lastSuccessfulTime === undefined || millisOf(completionTime) > millisOf(lastSuccessfulTime))
    work.status = { ...work.status, lastSuccessfulTime: completionTime };
}

/** The schedule and its time zone, by default UTC; undefined if the CronJob is suspended or its schedule is invalid. */
function timetable({ cronJob, context: { event } }: Work): Timetable | undefined {
  const { schedule: text, timeZone, suspend } = cronJob.spec;
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    event("Warning", "UnknownTimeZone", `invalid timeZone: ${quote(timeZone)}: unknown time zone ${timeZone}`);
    return undefined;
  }
  if (suspend) return undefined;
  if (text.includes("TZ"))
    event(
      "Warning",
      "UnsupportedSchedule",
      `CRON_TZ or TZ used in schedule ${quote(text)} is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details`,
    );
  try {
    const schedule = parseSchedule(text);
    return { schedule, zone: zoneOf(schedule.timeZone ?? timeZone ?? "") };
  } catch (error) {
    event("Warning", "UnparseableSchedule", `unparseable schedule: ${quote(text)} : ${explain(error)}`);
    return undefined;
  }
}

async function keepTime(work: Work, table: Timetable, isNewSchedule: boolean): Promise<Again | undefined> {
  const { cronJob, context } = work;
  const now = context.clock.now();
  const later = (): Again | undefined => {
    const afterMs = nextStartMs({ ...cronJob, status: work.status }, table, now);
    return afterMs === undefined ? undefined : { afterMs: Math.max(0, afterMs) };
  };
  if (isNewSchedule) return later();
  const due = dueIn(work, table, now);
  if (due === "never") return undefined;
  if (due && isWanted(work, due.at)) await start(work, due.at);
  return later();
}

function dueIn({ cronJob, context: { event } }: Work, table: Timetable, now: number): Due | "never" | undefined {
  try {
    const due = dueStart(cronJob, table, now);
    if (due?.tooManyMissed)
      event(
        "Warning",
        "TooManyMissedTimes",
        "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
      );
    return due;
  } catch (error) {
    if (!(error instanceof NeverDue)) throw error;
    event("Warning", "InvalidSchedule", `invalid schedule: ${cronJob.spec.schedule} : ${error.message}`);
    return "never";
  }
}

/** Whether the due job may start: it must not have been started before, and the concurrency policy must allow it. */
function isWanted(work: Work, at: number): boolean {
  const { metadata, spec, status } = work.cronJob;
  const { event } = work.context;
  const name = jobName(work.cronJob, at);
  if (work.active.some((one) => one.name === name && one.namespace === metadata.namespace)) return false;
  if (status.lastScheduleTime !== undefined && millisOf(status.lastScheduleTime) === at) return false;
  if (spec.concurrencyPolicy !== "Forbid" || work.active.length === 0) return true;
  event(
    "Normal",
    "JobAlreadyActive",
    "Not starting job because prior execution is running and concurrency policy is Forbid",
  );
  return false;
}

async function start(work: Work, at: number): Promise<void> {
  const { cronJob, context } = work;
  const { client, event } = context;
  if (cronJob.spec.concurrencyPolicy === "Replace") await deleteActive(work);
  const draft = jobOf(cronJob, at);
  let job: Job;
  try {
    job = await client.create(Job, draft);
    event("Normal", "SuccessfulCreate", `Created job ${job.metadata.name}`);
  } catch (error) {
    if (isNamespaceTerminating(error)) return;
    if (!isReason(error, "AlreadyExists")) {
      event("Warning", "FailedCreate", `Error creating job: ${explain(error)}`);
      throw error;
    }
    // A job of ours was created in an earlier reconcile whose status write failed. A job of others has taken the name: nothing is started.
    job = await client.get(Job, draft.metadata);
    if (controllerOf(job)?.uid !== cronJob.metadata.uid || work.has(job.metadata.uid)) return;
  }
  work.status = {
    ...work.status,
    // One that has ended meanwhile is dropped at the next look.
    active: [...work.active, referenceTo(job)],
    lastScheduleTime: timeOf(at),
  };
}

async function deleteActive(work: Work): Promise<void> {
  const { client, event } = work.context;
  for (const { namespace, name = "" } of work.active) {
    const job = await client.get(Job, { namespace, name }).catch((error: unknown) => {
      event("Warning", "FailedGet", `Get job: ${explain(error)}`);
      throw error;
    });
    if (!(await deleteJob(work, job))) throw new Error(`could not replace job ${namespace}/${name}`);
  }
}

/** One name for one time, so that no start is made twice. */
const jobName = ({ metadata }: CronJob, at: number): string => `${metadata.name}-${Math.floor(at / 60_000)}`;

function jobOf(cronJob: CronJob, at: number) {
  const { jobTemplate, timeZone = "" } = cronJob.spec;
  const { labels, annotations } = jobTemplate.metadata;
  return {
    metadata: {
      name: jobName(cronJob, at),
      namespace: cronJob.metadata.namespace,
      labels,
      annotations: { ...annotations, [scheduledAnnotation]: formatIn(zoneOf(timeZone), at) },
      ownerReferences: [controlledBy(CronJob, cronJob)],
    },
    spec: jobTemplate.spec,
  };
}

const referenceTo = ({ metadata: { namespace, name, uid, resourceVersion } }: Job): ObjectReference => ({
  apiVersion: Job.apiVersion,
  kind: Job.kind,
  namespace,
  name,
  uid,
  resourceVersion,
});
