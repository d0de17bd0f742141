import type { ReplicationController } from "#api/core/v1/replication-controller.ts";
import { labelText, writeConditions, writeEvents, writeIdentity, writeTags } from "../common.ts";
import { type Describer, eventsOf, subjectOf } from "../describer.ts";
import { writePodTemplate } from "../pod-template.ts";
import { podsStatus } from "../workload-pods.ts";

export const describeReplicationController: Describer<ReplicationController> = async (controller, context, w) => {
  const { metadata, spec, status } = controller;
  const pods = await podsStatus(context, { metadata, spec: { selector: { matchLabels: spec.selector ?? {} } } });
  const events = await eventsOf(context, subjectOf({ ...controller }));
  writeIdentity(w, metadata);
  w.line(0, "Selector:", labelText(spec.selector));
  writeTags(w, metadata);
  w.line(0, "Replicas:", `${status.replicas ?? 0} current / ${spec.replicas} desired`);
  w.line(0, "Pods Status:", pods);
  if (spec.template) writePodTemplate(w, spec.template);
  else w.write("Pod Template:\n  <unset>");
  writeConditions(w, status.conditions);
  writeEvents(w, events, context.now);
};
