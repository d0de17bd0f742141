import type { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { ApiError } from "#base/errors.ts";
import { formatSelector } from "#schema/selector.ts";
import { writeConditions, writeController, writeEvents, writeIdentity, writeTags } from "../common.ts";
import { type Describer, eventsOf, subjectOf } from "../describer.ts";
import { writePodTemplate } from "../pod-template.ts";
import { podsStatus } from "../workload-pods.ts";

export const describeReplicaSet: Describer<ReplicaSet> = async (set, context, w) => {
  const { metadata, spec, status } = set;
  const pods = await podsStatus(context, set).catch((error: unknown) => {
    if (error instanceof ApiError) return `error in fetching pods: ${error.message}`;
    throw error;
  });
  const events = await eventsOf(context, subjectOf({ ...set }));
  writeIdentity(w, metadata);
  w.line(0, "Selector:", formatSelector(spec.selector));
  writeTags(w, metadata);
  writeController(w, set);
  w.line(0, "Replicas:", `${status.replicas ?? 0} current / ${spec.replicas} desired`);
  w.line(0, "Pods Status:", pods);
  writePodTemplate(w, spec.template);
  writeConditions(w, status.conditions);
  writeEvents(w, events, context.now);
};
