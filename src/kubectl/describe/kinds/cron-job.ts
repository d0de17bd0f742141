import type { CronJob } from "#api/batch/v1/cron-job.ts";
import { selectorText, timeText, writeEvents, writeIdentity, writeTags } from "../common.ts";
import { type Describer, eventsOf, subjectOf } from "../describer.ts";
import type { DescriptionWriter } from "../description-writer.ts";
import { writePodTemplate } from "../pod-template.ts";

const unset = "<unset>";

export const describeCronJob: Describer<CronJob> = async (job, context, w) => {
  const { metadata, spec, status } = job;
  const events = await eventsOf(context, subjectOf({ ...job }));
  const { suspend, startingDeadlineSeconds: deadline } = spec;
  writeIdentity(w, metadata);
  writeTags(w, metadata);
  w.line(0, "Schedule:", spec.schedule);
  w.line(0, "Concurrency Policy:", spec.concurrencyPolicy ?? "");
  w.line(0, "Suspend:", suspend === undefined ? unset : suspend ? "True" : "False");
  w.line(0, "Time Zone:", spec.timeZone ?? unset);
  w.line(0, "Successful Job History Limit:", spec.successfulJobsHistoryLimit ?? unset);
  w.line(0, "Failed Job History Limit:", spec.failedJobsHistoryLimit ?? unset);
  w.line(0, "Starting Deadline Seconds:", deadline === undefined ? unset : `${deadline}s`);
  writeJobTemplate(w, spec.jobTemplate.spec);
  w.line(0, "Last Schedule Time:", status.lastScheduleTime ? timeText(status.lastScheduleTime) : unset);
  w.line(0, "Active Jobs:", (status.active ?? []).map(({ name = "" }) => name).join(", ") || "<none>");
  writeEvents(w, events, context.now);
};

function writeJobTemplate(w: DescriptionWriter, spec: CronJob["spec"]["jobTemplate"]["spec"]): void {
  w.line(0, "Selector:", spec.selector ? selectorText(spec.selector) : unset);
  w.line(0, "Parallelism:", spec.parallelism ?? unset);
  w.line(0, "Completions:", spec.completions ?? unset);
  if (spec.activeDeadlineSeconds !== undefined) w.line(0, "Active Deadline Seconds:", `${spec.activeDeadlineSeconds}s`);
  writePodTemplate(w, spec.template);
}
