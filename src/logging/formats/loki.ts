// Loki's push API in JSON: POST /loki/api/v1/push. Lines with the same labels are one stream.
// See https://grafana.com/docs/loki/latest/reference/loki-http-api/#ingest-logs.
import type { ContainerLine } from "../log-line.ts";
import { nanosOf } from "../nanos.ts";

export const lokiPath = "/loki/api/v1/push";

/** Each label value of a pod makes streams of its own, which Loki bears only so many of: so only the named labels of pods are sent. */
export function lokiPush(lines: readonly ContainerLine[], podLabels: readonly string[]): string {
  const streams = new Map<string, { readonly stream: Record<string, string>; readonly values: [string, string][] }>();
  for (const line of lines) {
    const stream = labelsOf(line, podLabels);
    const key = JSON.stringify(stream);
    const known = streams.get(key) ?? { stream, values: [] };
    streams.set(key, known);
    known.values.push([String(nanosOf(line.time)), line.text]);
  }
  return JSON.stringify({ streams: [...streams.values()] });
}

function labelsOf({ source, stream }: ContainerLine, podLabels: readonly string[]): Record<string, string> {
  const { namespace, pod, container, node, labels } = source;
  const own = podLabels.flatMap((name) => {
    const value = Object.hasOwn(labels, name) ? labels[name] : undefined;
    return value === undefined ? [] : [[lokiLabel(name), value] as const];
  });
  return { ...Object.fromEntries(own), namespace, pod, container, node, stream };
}

/** Loki's labels are named as Prometheus' are. */
const lokiLabel = (name: string): string => name.replaceAll(/[^A-Za-z0-9_]/g, "_").replace(/^(\d)/, "_$1");
