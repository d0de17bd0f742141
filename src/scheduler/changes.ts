// What of an object has changed, as far as it may matter to a pod that found no node.
import type { Node } from "#api/core/v1/node.ts";
import { equal } from "#base/collections.ts";
import type { ChangedPart, ChangeType } from "./framework.ts";
import type { PodView } from "./pod-view.ts";

export function partsChanged(old: PodView, now: PodView): readonly ChangeType[] {
  const parts: ChangeType[] = ["update"];
  if (!equal(old.labels ?? {}, now.labels ?? {})) parts.push("labels");
  // Tolerations can only be added.
  if ((old.pod.spec.tolerations ?? []).length !== (now.pod.spec.tolerations ?? []).length) parts.push("tolerations");
  if (gates(old) > 0 && gates(now) === 0) parts.push("gates");
  if (!equal(old.pod.status.resourceClaimStatuses ?? [], now.pod.status.resourceClaimStatuses ?? []))
    parts.push("claims");
  if (takesLess(old, now)) parts.push("scaleDown");
  return parts;
}

/** Empty if the change cannot matter: most updates of nodes are heartbeats. */
export function nodePartsChanged(old: Node, now: Node): readonly ChangeType[] {
  const parts: ChangedPart[] = [];
  if (!equal(old.status.allocatable ?? {}, now.status.allocatable ?? {})) parts.push("allocatable");
  if (!equal(old.metadata.labels ?? {}, now.metadata.labels ?? {})) parts.push("labels");
  const isOpened = old.spec.unschedulable === true && now.spec.unschedulable !== true;
  if (isOpened || !equal(old.spec.taints ?? [], now.spec.taints ?? [])) parts.push("taints");
  if (!equal(conditions(old), conditions(now))) parts.push("conditions");
  if (!equal(old.metadata.annotations ?? {}, now.metadata.annotations ?? {})) parts.push("annotations");
  if (!equal(old.status.declaredFeatures ?? [], now.status.declaredFeatures ?? [])) parts.push("features");
  return parts.length === 0 ? [] : ["update", ...parts];
}

const conditions = ({ status }: Node) =>
  Object.fromEntries((status.conditions ?? []).map(({ type, status: is }) => [type, is]));

const gates = ({ pod }: PodView): number => (pod.spec.schedulingGates ?? []).length;

function takesLess({ request: old, pod: before }: PodView, { request, pod }: PodView): boolean {
  if (before.spec.containers === pod.spec.containers) return false;
  if (request.cpu < old.cpu || request.memory < old.memory || request.storage < old.storage) return true;
  for (const [name, value] of old.others) if ((request.others.get(name) ?? 0) < value) return true;
  return false;
}
