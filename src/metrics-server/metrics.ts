// The objects of metrics.k8s.io, made when they are asked for: what is known of a node or a pod, under its name and labels.
// Upstream: sigs.k8s.io/metrics-server/pkg/api.
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { NodeMetrics } from "#api/metrics/v1beta1/node-metrics.ts";
import { PodMetrics } from "#api/metrics/v1beta1/pod-metrics.ts";
import { formatDuration } from "#base/duration.ts";
import { keyOf } from "#client/object-key.ts";
import type { ApiObject } from "#schema/object.ts";
import { formatQuantity, quantityOf } from "#schema/quantity.ts";
import { timeOf } from "#schema/time.ts";
import { type MeasuredUsage, type NodeWindows, usageIn } from "./usage-windows.ts";

/** Undefined until there were two measurements. */
export function nodeMetrics({ metadata }: Node, windows: NodeWindows | undefined, now: number): ApiObject | undefined {
  const used = windows?.node && usageIn(windows.node);
  if (!used) return undefined;
  const { name, labels } = metadata;
  return {
    apiVersion: NodeMetrics.apiVersion,
    kind: NodeMetrics.kind,
    metadata: { name, creationTimestamp: timeOf(now), ...(labels && { labels }) },
    ...measuredAt(used),
    usage: amountsOf(used),
  };
}

/** Undefined until there were two measurements of each of its containers. */
export function podMetrics({ metadata }: Pod, windows: NodeWindows | undefined, now: number): ApiObject | undefined {
  const containers = windows?.pods.get(keyOf(metadata));
  if (!containers || [...containers.values()].some(({ previous }) => previous === undefined)) return undefined;
  const measured = [...containers].flatMap(([name, window]) => {
    const used = usageIn(window);
    return used ? [{ name, used }] : [];
  });
  const [first, ...others] = measured;
  if (!first) return undefined;
  const earliest = others.reduce((least, { used }) => (used.at < least.at ? used : least), first.used);
  const { name, namespace, labels } = metadata;
  return {
    apiVersion: PodMetrics.apiVersion,
    kind: PodMetrics.kind,
    metadata: { name, namespace, creationTimestamp: timeOf(now), ...(labels && { labels }) },
    ...measuredAt(earliest),
    containers: measured.map(({ name: container, used }) => ({ name: container, usage: amountsOf(used) })),
  };
}

const measuredAt = ({ at, windowMs }: MeasuredUsage) => ({
  timestamp: timeOf(at),
  window: formatDuration(BigInt(Math.round(windowMs * 1e6))),
});

const amountsOf = ({ nanoCores, memoryBytes }: MeasuredUsage) => ({
  cpu: formatQuantity({ unscaled: BigInt(nanoCores), scale: -9, format: "DecimalSI" }),
  memory: formatQuantity(quantityOf(memoryBytes, "BinarySI")),
});
