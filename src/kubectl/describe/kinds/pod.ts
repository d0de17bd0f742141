import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { qosClassOf } from "#api/core/v1/qos.ts";
import { goQuote } from "../../go/quote.ts";
import {
  ageText,
  sortedEntries,
  timeText,
  writeController,
  writeEvents,
  writeIdentity,
  writeLabels,
  writeTags,
  writeTolerations,
} from "../common.ts";
import { type FieldResolver, writeContainers, writeResources } from "../containers.ts";
import { type Describer, eventsOf, subjectOf } from "../describer.ts";
import type { DescriptionWriter } from "../description-writer.ts";
import { writeSchedulingGroup, writeSpread } from "../pod-template.ts";
import { writeVolumes } from "../volumes.ts";

const mirrorAnnotation = "kubernetes.io/config.mirror";

export const describePod: Describer<Pod> = async (pod, context, w) => {
  const { metadata, spec, status } = pod;
  // Events of a mirror pod are about the pod on the node.
  const subject = { ...subjectOf({ metadata }), kind: "" };
  const mirror = metadata.annotations?.[mirrorAnnotation];
  const events = await eventsOf(context, mirror === undefined ? subject : { ...subject, uid: mirror });
  writeIdentity(w, metadata);
  writeHead(w, pod, context.now);
  if (spec.resources) {
    w.line(0, "Resources:");
    writeResources(w, spec.resources, 1);
  }
  writeAllContainers(w, pod);
  writeReadiness(w, pod);
  writeVolumes(w, spec.volumes, "");
  w.line(0, "QoS Class:", status.qosClass || qosClassOf(spec));
  writeLabels(w, "Node-Selectors", spec.nodeSelector);
  writeTolerations(w, "Tolerations", spec.tolerations);
  writeSpread(w, spec.topologySpreadConstraints, "");
  writeSchedulingGroup(w, spec, "");
  writeEvents(w, events, context.now);
};

function writeHead(w: DescriptionWriter, pod: Pod, now: number): void {
  const { metadata, spec, status } = pod;
  if (spec.priority !== undefined) w.line(0, "Priority:", spec.priority);
  if (spec.priorityClassName) w.line(0, "Priority Class Name:", spec.priorityClassName);
  if (spec.runtimeClassName) w.line(0, "Runtime Class Name:", spec.runtimeClassName);
  if (spec.serviceAccountName) w.line(0, "Service Account:", spec.serviceAccountName);
  w.line(0, "Node:", spec.nodeName ? `${spec.nodeName}/${status.hostIP ?? ""}` : "<none>");
  if (status.startTime) w.line(0, "Start Time:", timeText(status.startTime));
  writeTags(w, metadata);
  if (metadata.deletionTimestamp && status.phase !== "Failed" && status.phase !== "Succeeded") {
    w.line(0, "Status:", `Terminating (lasts ${ageText(metadata.deletionTimestamp, now)})`);
    w.line(0, "Termination Grace Period:", `${metadata.deletionGracePeriodSeconds ?? 0}s`);
  } else w.line(0, "Status:", status.phase ?? "");
  if (status.reason) w.line(0, "Reason:", status.reason);
  if (status.message) w.line(0, "Message:", status.message);
  const seccomp = spec.securityContext?.seccompProfile;
  if (seccomp) {
    w.line(0, "SeccompProfile:", seccomp.type);
    if (seccomp.type === "Localhost") w.line(0, "LocalhostProfile:", seccomp.localhostProfile ?? "");
  }
  w.line(0, "IP:", status.podIP ?? "");
  const { podIPs = [] } = status;
  w.line(0, podIPs.length === 0 ? "IPs:\t<none>" : "IPs:");
  for (const { ip } of podIPs) w.line(1, "IP:", ip);
  writeController(w, pod);
  if (status.nominatedNodeName) w.line(0, "NominatedNodeName:", status.nominatedNodeName);
}

function writeAllContainers(w: DescriptionWriter, pod: Pod): void {
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = pod.status;
  const common = { resolve: fieldsOf(pod), space: "" };
  if (initContainers.length > 0)
    writeContainers(w, {
      ...common,
      title: "Init Containers",
      containers: initContainers,
      statuses: initContainerStatuses,
    });
  writeContainers(w, { ...common, title: "Containers", containers, statuses: containerStatuses });
  if (ephemeralContainers.length > 0)
    writeContainers(w, {
      ...common,
      title: "Ephemeral Containers",
      containers: ephemeralContainers as readonly Container[],
      statuses: ephemeralContainerStatuses,
    });
}

function writeReadiness(w: DescriptionWriter, { spec, status }: Pod): void {
  const { readinessGates = [] } = spec;
  const { conditions = [] } = status;
  if (readinessGates.length > 0) {
    w.line(0, "Readiness Gates:");
    w.line(1, "Type", "Status");
    for (const { conditionType } of readinessGates) {
      const found = conditions.find(({ type }) => type === conditionType);
      w.line(1, `${conditionType} `, `${found?.status ?? "<none>"} `);
    }
  }
  if (conditions.length === 0) return;
  w.line(0, "Conditions:");
  w.line(1, "Type", "Status");
  for (const { type, status } of conditions) w.line(1, `${type} `, `${status} `);
}

/** Only what the metadata says can be told; the rest is known on the node. */
function fieldsOf({ metadata }: Pod): FieldResolver {
  const mapText = (map: Readonly<Record<string, string>> | undefined) =>
    sortedEntries(map)
      .map(([key, value]) => `${key}=${goQuote(value)}`)
      .join("\n");
  return (path) => {
    const [, map, key = ""] = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path) ?? [];
    if (map !== undefined) {
      const values = metadata[map as "labels" | "annotations"] ?? {};
      return Object.hasOwn(values, key) ? (values[key] ?? "") : "";
    }
    if (path === "metadata.labels" || path === "metadata.annotations")
      return mapText(metadata[path === "metadata.labels" ? "labels" : "annotations"]);
    if (path === "metadata.name") return metadata.name ?? "";
    if (path === "metadata.namespace") return metadata.namespace ?? "";
    return path === "metadata.uid" ? (metadata.uid ?? "") : "";
  };
}
