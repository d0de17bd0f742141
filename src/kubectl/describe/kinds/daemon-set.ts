import type { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import { labelText, selectorText, writeEvents, writeIdentity, writeTags } from "../common.ts";
import { type Describer, eventsOf, subjectOf } from "../describer.ts";
import { writePodTemplate } from "../pod-template.ts";
import { podsStatus } from "../workload-pods.ts";

export const describeDaemonSet: Describer<DaemonSet> = async (set, context, w) => {
  const { metadata, spec, status } = set;
  const pods = await podsStatus(context, set);
  const events = await eventsOf(context, subjectOf({ ...set }));
  writeIdentity(w, metadata);
  w.line(0, "Selector:", selectorText(spec.selector));
  w.line(0, "Node-Selector:", labelText(spec.template.spec.nodeSelector));
  writeTags(w, metadata);
  w.line(0, `Desired Number of Nodes Scheduled: ${status.desiredNumberScheduled ?? 0}`);
  w.line(0, `Current Number of Nodes Scheduled: ${status.currentNumberScheduled ?? 0}`);
  w.line(0, `Number of Nodes Scheduled with Up-to-date Pods: ${status.updatedNumberScheduled ?? 0}`);
  w.line(0, `Number of Nodes Scheduled with Available Pods: ${status.numberAvailable ?? 0}`);
  w.line(0, `Number of Nodes Misscheduled: ${status.numberMisscheduled ?? 0}`);
  w.line(0, "Pods Status:", pods);
  writePodTemplate(w, spec.template);
  writeEvents(w, events, context.now);
};
