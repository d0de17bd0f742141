// Elasticsearch's bulk API: POST /_bulk. A line gets an id made of where it comes from, so that a batch which is sent twice is kept once.
// See https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-bulk.
import { parseJson } from "#schema/json.ts";
import type { ContainerLine } from "../log-line.ts";
import type { SendReport } from "../output.ts";

export const bulkPath = "/_bulk";

/** `%{date}` in the name of the index is the day of the line: `2026.01.31`. */
export const bulkBody = (lines: readonly ContainerLine[], index: string, epoch: string): string =>
  lines
    .map((line) => {
      const action = { create: { _index: index.replace("%{date}", dayOf(line)), _id: idOf(line, epoch) } };
      return `${JSON.stringify(action)}\n${JSON.stringify(documentOf(line))}\n`;
    })
    .join("");

const dayOf = ({ time }: ContainerLine): string => time.slice(0, 10).replaceAll("-", ".");

const idOf = ({ source: { uid, container, attempt }, position }: ContainerLine, epoch: string): string =>
  [epoch, uid, container, attempt, position].join("/");

/** Fields as Fluent Bit names them, which dashboards expect. */
function documentOf({ source, time, stream, text, isCut }: ContainerLine): object {
  const { namespace, pod, uid, container, node, labels } = source;
  return {
    "@timestamp": time,
    message: text,
    stream,
    ...(isCut && { truncated: true }),
    kubernetes: {
      namespace_name: namespace,
      pod_name: pod,
      pod_id: uid,
      container_name: container,
      host: node,
      // A dot in a name would make an object of it, and `app` cannot be a text and an object.
      labels: Object.fromEntries(Object.entries(labels).map(([name, value]) => [name.replaceAll(".", "_"), value])),
    },
  };
}

interface BulkItem {
  readonly status?: number;
  readonly error?: { readonly reason?: string; readonly type?: string };
}

const alreadyThere = 409;
const isWorthAnotherTry = (status: number): boolean => status === 429 || status >= 500;

/** What became of each line. Throws if the answer is none to a bulk request. */
export function bulkReport(answer: string, lines: readonly ContainerLine[]): SendReport {
  const { errors, items } = parseJson(answer).value as {
    readonly errors?: unknown;
    readonly items?: readonly Readonly<Record<string, BulkItem>>[];
  };
  if (errors === false) return {};
  if (!Array.isArray(items) || items.length !== lines.length)
    throw new Error(`the answer has no item for each of ${lines.length} lines: ${answer.slice(0, 200)}`);
  const results = items.map((item): BulkItem => Object.values<BulkItem>(item)[0] ?? {});
  const failed = results.map(({ status = 500 }) => status >= 300 && status !== alreadyThere);
  const { error } = results.find((_, i) => failed[i]) ?? {};
  const unsent = lines.filter((_, i) => failed[i] && isWorthAnotherTry(results[i]?.status ?? 500));
  return {
    rejected: failed.filter(Boolean).length - unsent.length,
    reason: error?.reason ?? error?.type ?? "",
    unsent,
  };
}
