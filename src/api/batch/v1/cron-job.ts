import { bool, type Infer, int32, int64, list, ref, resource, string, struct, time } from "#schema/index.ts";
import { ObjectMeta } from "#schema/object-meta.ts";
import { ObjectReference } from "../../core/v1/references.ts";
import { JobSpec } from "./job.ts";

export const JobTemplateSpec = struct("batch/v1.JobTemplateSpec", {
  metadata: ref(1, ObjectMeta).default({}),
  spec: ref(2, JobSpec).default({}),
});
export interface JobTemplateSpec extends Infer<typeof JobTemplateSpec> {}

export const CronJobSpec = struct("batch/v1.CronJobSpec", {
  schedule: string(1).required(),
  timeZone: string(8).pointer(),
  startingDeadlineSeconds: int64(2).pointer(),
  concurrencyPolicy: string(3).oneOf("Allow", "Forbid", "Replace").default("Allow"),
  suspend: bool(4).pointer().default(false),
  jobTemplate: ref(5, JobTemplateSpec).required(),
  successfulJobsHistoryLimit: int32(6).pointer().default(3),
  failedJobsHistoryLimit: int32(7).pointer().default(1),
});
export interface CronJobSpec extends Infer<typeof CronJobSpec> {}

export const CronJobStatus = struct("batch/v1.CronJobStatus", {
  active: list(1, ObjectReference),
  lastScheduleTime: time(4).pointer(),
  lastSuccessfulTime: time(5).pointer(),
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
  doc: "",
  fields: {
    spec: ref(2, CronJobSpec).required(),
    status: ref(3, CronJobStatus).default({}),
  },
  subresources: { status: true },
});
export interface CronJob extends Infer<typeof CronJob> {}
