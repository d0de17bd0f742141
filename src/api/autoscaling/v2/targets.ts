// The column that shows each metric as it is and as it should be: `cpu: 45%/80%`.
import type { MetricSpec, MetricStatus, MetricTarget, MetricValueStatus } from "./horizontal-pod-autoscaler.ts";

const shown = 2;

export function formatTargets(specs: readonly MetricSpec[] = [], statuses: readonly MetricStatus[] = []): string {
  if (specs.length === 0) return "<none>";
  const texts = specs.map((spec, i) => formatTarget(spec, statuses[i]));
  const head = texts.slice(0, shown).join(", ");
  return texts.length > shown ? `${head} + ${texts.length - shown} more...` : head;
}

const unknown = "<unknown>";

function formatTarget(spec: MetricSpec, status: MetricStatus | undefined): string {
  switch (spec.type) {
    case "External":
      return formatValue(spec.external?.target, status?.external?.current);
    case "Object":
      return formatValue(spec.object?.target, status?.object?.current);
    case "Pods":
      return `${status?.pods?.current.averageValue ?? unknown}/${spec.pods?.target.averageValue ?? "<nil>"}`;
    case "Resource":
      return formatUse(spec.resource, status?.resource?.current);
    case "ContainerResource":
      return formatUse(spec.containerResource, status?.containerResource?.current);
    default:
      return "<unknown type>";
  }
}

const formatValue = (target: MetricTarget | undefined, current: MetricValueStatus | undefined): string =>
  target?.averageValue !== undefined
    ? `${current?.averageValue ?? unknown}/${target.averageValue} (avg)`
    : `${current?.value ?? unknown}/${target?.value ?? "<nil>"}`;

function formatUse(
  source: { readonly name: string; readonly target: MetricTarget } | undefined,
  current: MetricValueStatus | undefined,
): string {
  const { averageValue, averageUtilization } = source?.target ?? {};
  if (averageValue !== undefined) return `${source?.name}: ${current?.averageValue ?? unknown}/${averageValue}`;
  return `${source?.name}: ${percent(current?.averageUtilization) ?? unknown}/${percent(averageUtilization) ?? "<auto>"}`;
}

const percent = (value: number | undefined): string | undefined => (value === undefined ? undefined : `${value}%`);
