// What is said of pods and of templates of pods alike.
import type { TopologySpreadConstraint } from "#api/core/v1/affinity.ts";
import type { PodSpec, PodTemplateSpec } from "#api/core/v1/pod-spec.ts";
import { formatSelector } from "#schema/selector.ts";
import { compareText } from "../go/value.ts";
import { writeAnnotations, writeLabels, writeTolerations } from "./common.ts";
import { writeContainers } from "./containers.ts";
import { DescriptionWriter } from "./description-writer.ts";
import { writeVolumes } from "./volumes.ts";

export function writePodTemplate(w: DescriptionWriter, template: PodTemplateSpec): void {
  const { labels, annotations = {} } = template.metadata ?? {};
  const { spec } = template;
  const space = "  ";
  w.line(0, "Pod Template:");
  writeLabels(w, `${space}Labels`, labels);
  if (Object.keys(annotations).length > 0) writeAnnotations(w, `${space}Annotations`, annotations);
  if (spec.serviceAccountName) w.line(1, "Service Account:", spec.serviceAccountName);
  if (spec.initContainers?.length)
    writeContainers(w, { title: "Init Containers", containers: spec.initContainers, space });
  writeContainers(w, { title: "Containers", containers: spec.containers, space });
  writeVolumes(w, spec.volumes, space);
  writeSpread(w, spec.topologySpreadConstraints, space);
  if (spec.priorityClassName) w.line(1, "Priority Class Name:", spec.priorityClassName);
  writeLabels(w, `${space}Node-Selectors`, spec.nodeSelector);
  writeTolerations(w, `${space}Tolerations`, spec.tolerations);
  writeSchedulingGroup(w, spec, space);
}

/** With tabs between the columns, as revisions of workloads are shown. */
export function podTemplateText(template: object): string {
  let text = "";
  const write = (part: string) => {
    text += part;
  };
  writePodTemplate(new DescriptionWriter({ write }), template as PodTemplateSpec);
  return text;
}

export function writeSpread(
  w: DescriptionWriter,
  constraints: readonly TopologySpreadConstraint[] = [],
  space: string,
): void {
  const sorted = constraints.toSorted((a, b) => compareText(a.topologyKey, b.topologyKey));
  for (const [i, { topologyKey, whenUnsatisfiable, maxSkew, labelSelector }] of sorted.entries()) {
    const selector = labelSelector ? ` for selector ${formatSelector(labelSelector)}` : "";
    const text = `${topologyKey}:${whenUnsatisfiable} when max skew ${maxSkew} is exceeded${selector}`;
    w.line(0, i === 0 ? `${space}Topology Spread Constraints:` : space, text);
  }
}

export function writeSchedulingGroup(w: DescriptionWriter, { schedulingGroup }: PodSpec, space: string): void {
  if (!schedulingGroup) return;
  w.line(0, `${space}SchedulingGroup:`);
  w.line(1, "PodGroupName:", schedulingGroup.podGroupName);
}
