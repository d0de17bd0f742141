import { age, ageColumn, nameColumn } from "#schema/columns.ts";
import {
  bool,
  type Infer,
  int32,
  int64,
  invalid,
  list,
  notSupported,
  type Problem,
  ref,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { ObjectMeta } from "#schema/object-meta.ts";
import { containerColumns, selectorColumn } from "../../apps/v1/columns.ts";
import { ObjectReference } from "../../core/v1/references.ts";
import { JobSpec } from "./job.ts";
import { isTimeZone, parseSchedule } from "./schedule.ts";

export const JobTemplateSpec = struct("batch/v1.JobTemplateSpec", {
  metadata: ref(1, ObjectMeta, "Labels and annotations of the jobs.").default({}),
  spec: ref(2, JobSpec, "What the jobs do.").default({}),
});
export interface JobTemplateSpec extends Infer<typeof JobTemplateSpec> {}

export const CronJobSpec = struct(
  "batch/v1.CronJobSpec",
  {
    schedule: string(1, "When to start a job, as five fields of cron: minute, hour, day, month, weekday.")
      .nonEmpty()
      .required(),
    timeZone: string(8, "The time zone the schedule is in, such as Europe/Oslo.").pointer(),
    startingDeadlineSeconds: int64(2, "Seconds after which a start that was missed is given up.").min(0).pointer(),
    concurrencyPolicy: string(3, "What to do when the last job still runs: start anyway, skip, or replace it.")
      .nonEmpty()
      .oneOf("Allow", "Forbid", "Replace")
      .default("Allow"),
    suspend: bool(4, "While true, no jobs are started.").pointer().default(false),
    jobTemplate: ref(5, JobTemplateSpec, "The job to start.").required(),
    successfulJobsHistoryLimit: int32(6, "How many jobs that succeeded to keep.").min(0).pointer().default(3),
    failedJobsHistoryLimit: int32(7, "How many jobs that failed to keep.").min(0).pointer().default(1),
  },
  {
    *check({ schedule, timeZone }, old) {
      if (schedule !== "") yield* checkSchedule(schedule, timeZone, old?.schedule.includes("TZ") === true);
      if (!old || old.timeZone !== timeZone) yield* checkTimeZone(timeZone);
    },
  },
);
export interface CronJobSpec extends Infer<typeof CronJobSpec> {}

function* checkSchedule(schedule: string, timeZone: string | undefined, hadZone: boolean): Iterable<Problem> {
  try {
    parseSchedule(schedule);
  } catch (error) {
    yield invalid("schedule", (error as Error).message);
  }
  if (!schedule.includes("TZ")) return;
  if (!hadZone) yield invalid("schedule", "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
  else if (timeZone !== undefined)
    yield invalid("schedule", "cannot use both timeZone field and TZ or CRON_TZ in schedule");
}

function* checkTimeZone(zone: string | undefined): Iterable<Problem> {
  if (zone === undefined) return;
  const plain = zone.split("/").every((part) => /^[A-Za-z.\-_0-9+]{1,14}$/.test(part) && !/^(-|\.\.?$)/.test(part));
  if (zone === "") yield invalid("timeZone", "timeZone must be nil or non-empty string");
  if (zone.toLowerCase() === "local")
    yield invalid("timeZone", "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
  if (zone === "" || zone === "Local") return; // Go knows the latter
  if (!plain || !isTimeZone(zone)) yield invalid("timeZone", `unknown time zone ${zone}`);
}

export const CronJobStatus = struct("batch/v1.CronJobStatus", {
  active: list(1, ObjectReference, "Jobs that are running."),
  lastScheduleTime: time(4, "When a job was last due and started.").pointer(),
  lastSuccessfulTime: time(5, "When a job last succeeded.").pointer(),
});
export interface CronJobStatus extends Infer<typeof CronJobStatus> {}

export const CronJob = resource({
  group: "batch",
  version: "v1",
  kind: "CronJob",
  plural: "cronjobs",
  shortNames: ["cj"],
  categories: ["all"],
  scope: "Namespaced",
  doc: "Starts a job again and again, on a schedule.",
  fields: {
    spec: ref(2, CronJobSpec, "What is wanted.").required(),
    status: ref(3, CronJobStatus, "What has happened.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    { name: "Schedule", doc: "When jobs are started.", cell: ({ spec }) => spec.schedule },
    { name: "Timezone", doc: "The time zone of the schedule.", cell: ({ spec }) => spec.timeZone ?? "<none>" },
    {
      name: "Suspend",
      type: "boolean",
      doc: "Whether no jobs are started.",
      cell: ({ spec }) => (spec.suspend ? "True" : "False"),
    },
    {
      name: "Active",
      type: "integer",
      doc: "Jobs that are running.",
      cell: ({ status }) => (status.active ?? []).length,
    },
    {
      name: "Last Schedule",
      doc: "How long ago a job was started.",
      cell: ({ status: { lastScheduleTime } }, now) =>
        lastScheduleTime === undefined ? "<none>" : age(lastScheduleTime, now),
    },
    ageColumn,
    ...[...containerColumns, selectorColumn].map((column) => ({
      ...column,
      cell: ({ spec }: { readonly spec: CronJobSpec }, now: number) =>
        column.cell({ spec: spec.jobTemplate.spec }, now),
    })),
  ],
  *check({ metadata, spec: { jobTemplate } }, old) {
    // The controller adds eleven characters to the name of each job.
    if (!old && (metadata.name ?? "").length > 52) yield invalid("metadata.name", "must be no more than 52 characters");
    if (jobTemplate.spec.selector) yield invalid("spec.jobTemplate.spec.selector", "`selector` will be auto-generated");
    if (jobTemplate.spec.manualSelector) yield notSupported("spec.jobTemplate.spec.manualSelector", ["nil", "false"]);
  },
});
export interface CronJob extends Infer<typeof CronJob> {}
