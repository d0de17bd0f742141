// The containers of a pod's spec, by name and by kind.
// Upstream: pkg/kubelet/container/ref.go.
import type { Container } from "#api/core/v1/container.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";

/** All containers by name: no two share one. */
export function containersIn({
  initContainers,
  containers,
  ephemeralContainers,
}: PodSpec): ReadonlyMap<string, Container> {
  const all = new Map<string, Container>();
  for (const container of initContainers ?? []) all.set(container.name, container);
  for (const container of containers) all.set(container.name, container);
  for (const container of ephemeralContainers ?? []) all.set(container.name, container);
  return all;
}

/** What events about a container point to: `spec.containers{web}`. */
export function fieldPathOf({ initContainers, ephemeralContainers }: PodSpec, name: string): string {
  if (initContainers?.some((one) => one.name === name)) return `spec.initContainers{${name}}`;
  if (ephemeralContainers?.some((one) => one.name === name)) return `spec.ephemeralContainers{${name}}`;
  return `spec.containers{${name}}`;
}
