// The downward API: fields of a pod and resources of its containers as text.
// Upstream: pkg/fieldpath/fieldpath.go.
import type { Container } from "#api/core/v1/container.ts";
import type { ResourceFieldSelector } from "#api/core/v1/env.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { parseQuantity, quantityMilliValue } from "#schema/quantity.ts";
import { InputMissing, type PodContext } from "./sources.ts";

/** `metadata.labels['app']`, `status.podIP`: what stands there, as text. */
export function fieldOf({ metadata, spec }: Pod, path: string, { podIps, hostIps }: PodContext): string {
  const keyed = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(path);
  if (keyed) return (keyed[1] === "labels" ? metadata.labels : metadata.annotations)?.[keyed[2] ?? ""] ?? "";
  switch (path) {
    case "metadata.name":
      return metadata.name;
    case "metadata.namespace":
      return metadata.namespace ?? "";
    case "metadata.uid":
      return metadata.uid;
    case "metadata.labels":
      return lines(metadata.labels);
    case "metadata.annotations":
      return lines(metadata.annotations);
    case "spec.nodeName":
      return spec.nodeName ?? "";
    case "spec.serviceAccountName":
      return spec.serviceAccountName ?? "";
    case "status.hostIP":
      return hostIps[0] ?? "";
    case "status.hostIPs":
      return hostIps.join(",");
    case "status.podIP":
      return podIps[0] ?? "";
    case "status.podIPs":
      return podIps.join(",");
    default:
      throw new InputMissing(`unsupported fieldPath: ${path}`);
  }
}

/** One `key="value"` per line, in order. */
const lines = (map: Readonly<Record<string, string>> = {}): string =>
  Object.entries(map)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join("\n");

/** `limits.cpu` in units of the divisor, rounded up; what has no limit may have all of the node. */
export function amountOf(
  containers: readonly Container[],
  { containerName, resource, divisor }: ResourceFieldSelector,
  own: Container | undefined,
  { allocatable }: PodContext,
): string {
  const container = containerName ? containers.find(({ name }) => name === containerName) : own;
  if (!container) throw new InputMissing(`container ${containerName} not found`);
  const [kind = "", ...rest] = resource.split(".");
  const name = rest.join(".");
  const { limits = {}, requests = {} } = container.resources;
  const amount = kind === "limits" ? (limits[name] ?? allocatable[name]) : (requests[name] ?? limits[name]);
  if (amount === undefined) return "0";
  const unit = divisor && divisor !== "0" ? quantityMilliValue(parseQuantity(divisor)) : 1000n;
  const value = quantityMilliValue(parseQuantity(amount));
  return String((BigInt(value) + BigInt(unit) - 1n) / BigInt(unit));
}
