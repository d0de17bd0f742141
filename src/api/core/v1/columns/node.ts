import type { Node, NodeSystemInfo } from "../node.ts";

export function nodeStatus({ spec, status }: Node): string {
  const ready = status.conditions?.findLast(({ type }) => type === "Ready");
  const health = ready ? (ready.status === "True" ? "Ready" : "NotReady") : "Unknown";
  return spec.unschedulable ? `${health},SchedulingDisabled` : health;
}

const rolePrefix = "node-role.kubernetes.io/";
const roleLabel = "kubernetes.io/role";

export function nodeRoles({ metadata }: Node): string {
  const roles = Object.entries(metadata.labels ?? {}).map(([key, value]) =>
    key.startsWith(rolePrefix) ? key.slice(rolePrefix.length) : key === roleLabel ? value : "",
  );
  return [...new Set(roles.filter((role) => role !== ""))].toSorted().join(",") || "<none>";
}

export const addressOf = ({ status }: Node, wanted: string): string =>
  status.addresses?.find(({ type }) => type === wanted)?.address ?? "<none>";

/** `6.1.0 (amd64)`. */
export const kernelOf = ({ kernelVersion, architecture }: NodeSystemInfo): string =>
  (kernelVersion || "<unknown>") + (architecture ? ` (${architecture})` : "");
