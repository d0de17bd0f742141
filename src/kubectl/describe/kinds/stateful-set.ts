import type { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { storageClassOf } from "#api/core/v1/columns/storage.ts";
import { selectorText, timeText, writeEvents, writeIdentity, writeLabels, writeTags } from "../common.ts";
import { type Describer, eventsOf, subjectOf } from "../describer.ts";
import type { DescriptionWriter } from "../description-writer.ts";
import { writePodTemplate } from "../pod-template.ts";
import { podsStatus } from "../workload-pods.ts";

export const describeStatefulSet: Describer<StatefulSet> = async (set, context, w) => {
  const { metadata, spec, status } = set;
  const pods = await podsStatus(context, set);
  const events = await eventsOf(context, subjectOf({ ...set }));
  writeIdentity(w, metadata);
  w.line(0, "CreationTimestamp:", timeText(metadata.creationTimestamp));
  w.line(0, "Selector:", selectorText(spec.selector));
  writeTags(w, metadata);
  w.line(0, "Replicas:", `${spec.replicas} desired | ${status.replicas ?? 0} total`);
  const { type = "", rollingUpdate } = spec.updateStrategy;
  w.line(0, "Update Strategy:", type);
  if (rollingUpdate?.partition !== undefined) {
    w.line(1, "Partition:", rollingUpdate.partition);
    if (rollingUpdate.maxUnavailable !== undefined) w.line(1, "MaxUnavailable:", rollingUpdate.maxUnavailable);
  }
  w.line(0, "Pods Status:", pods);
  writePodTemplate(w, spec.template);
  writeClaimTemplates(w, spec.volumeClaimTemplates);
  writeEvents(w, events, context.now);
};

function writeClaimTemplates(w: DescriptionWriter, claims: StatefulSet["spec"]["volumeClaimTemplates"] = []): void {
  if (claims.length === 0) {
    w.line(0, "Volume Claims:", "<none>");
    return;
  }
  w.line(0, "Volume Claims:");
  for (const { metadata, spec } of claims) {
    w.line(1, "Name:", metadata.name);
    w.line(1, "StorageClass:", storageClassOf(metadata, spec));
    // Further lines do not stand further in, though the first does.
    writeLabels(w, "  Labels", metadata.labels);
    writeLabels(w, "  Annotations", metadata.annotations);
    w.line(1, "Capacity:", spec.resources?.requests?.storage ?? "<default>");
    w.line(1, "Access Modes:", `[${(spec.accessModes ?? []).join(" ")}]`);
  }
}
