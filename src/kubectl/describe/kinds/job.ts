import type { Job } from "#api/batch/v1/job.ts";
import { humanDuration } from "#base/duration.ts";
import { selectorText, timeText, writeController, writeEvents, writeIdentity, writeTags } from "../common.ts";
import { type Describer, eventsOf, subjectOf } from "../describer.ts";
import type { DescriptionWriter } from "../description-writer.ts";
import { writePodTemplate } from "../pod-template.ts";

const indexesShown = 50;

export const describeJob: Describer<Job> = async (job, context, w) => {
  const { metadata, spec, status } = job;
  const events = await eventsOf(context, subjectOf({ ...job }));
  writeIdentity(w, metadata);
  w.line(0, "Selector:", selectorText(spec.selector));
  writeTags(w, metadata);
  writeController(w, job);
  if (spec.parallelism !== undefined) w.line(0, "Parallelism:", spec.parallelism);
  w.line(0, "Completions:", spec.completions ?? "<unset>");
  if (spec.completionMode !== undefined) w.line(0, "Completion Mode:", spec.completionMode);
  if (spec.suspend !== undefined) w.line(0, "Suspend:", spec.suspend);
  if (spec.backoffLimit !== undefined) w.line(0, "Backoff Limit:", spec.backoffLimit);
  if (spec.ttlSecondsAfterFinished !== undefined)
    w.line(0, "TTL Seconds After Finished:", spec.ttlSecondsAfterFinished);
  writeTimes(w, status);
  if (spec.activeDeadlineSeconds !== undefined) w.line(0, "Active Deadline Seconds:", `${spec.activeDeadlineSeconds}s`);
  const { active = 0, ready, succeeded = 0, failed = 0, completedIndexes = "" } = status;
  const readyText = ready === undefined ? "" : ` (${ready} Ready)`;
  w.line(0, "Pods Statuses:", `${active} Active${readyText} / ${succeeded} Succeeded / ${failed} Failed`);
  if (spec.completionMode === "Indexed") w.line(0, "Completed Indexes:", indexesText(completedIndexes));
  writePodTemplate(w, spec.template);
  writeEvents(w, events, context.now);
};

function writeTimes(w: DescriptionWriter, { startTime, completionTime }: Job["status"]): void {
  if (startTime) w.line(0, "Start Time:", timeText(startTime));
  if (completionTime) w.line(0, "Completed At:", timeText(completionTime));
  if (startTime && completionTime)
    w.line(0, "Duration:", humanDuration(Date.parse(completionTime) - Date.parse(startTime)));
}

function indexesText(indexes: string): string {
  if (indexes === "") return "<none>";
  const comma = indexes.indexOf(",", indexesShown);
  return comma < 0 ? indexes : `${indexes.slice(0, comma + 1)}...`;
}
