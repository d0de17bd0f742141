// Lines as a collector sends them to the store: sources once, and a short list for each line.
import { parseJson } from "#schema/json.ts";
import { badRequest } from "#wire/status.ts";
import type { ContainerLine, LogSource } from "../log-line.ts";
import { utcTime } from "../nanos.ts";

export interface LineBatch {
  readonly epoch: string;
  readonly lines: readonly ContainerLine[];
}

type LineFields = readonly [
  source: number,
  position: number,
  time: string,
  isStderr: number,
  isCut: number,
  text: string,
];

export function formatBatch(epoch: string, lines: readonly ContainerLine[]): string {
  const sources = [...new Set(lines.map(({ source }) => source))];
  const numbers = new Map(sources.map((source, i) => [source, i]));
  const fields = lines.map(
    ({ source, position, time, stream, isCut, text }): LineFields => [
      numbers.get(source) ?? 0,
      position,
      time,
      stream === "stderr" ? 1 : 0,
      isCut ? 1 : 0,
      text,
    ],
  );
  return JSON.stringify({ epoch, sources, lines: fields });
}

/** Throws ApiError 400 for what is no batch. */
export function parseBatch(text: string): LineBatch {
  const wrong = (what: string) => badRequest(`not a batch of lines: ${what}`);
  let value: unknown;
  try {
    ({ value } = parseJson(text));
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : "no JSON");
  }
  const { epoch, sources, lines } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof epoch !== "string" || !Array.isArray(sources) || !Array.isArray(lines)) throw wrong("a part is missing");
  if (!sources.every(isSource)) throw wrong("a source is incomplete");
  return {
    epoch,
    lines: lines.map((fields) => {
      if (!isLine(fields)) throw wrong("a line is incomplete");
      const [number, position, time, isStderr, isCut, content] = fields;
      const source: LogSource | undefined = sources[number];
      const moment = utcTime(time);
      if (!source || moment === undefined) throw wrong("a line has no source or no time");
      const stream = isStderr === 1 ? "stderr" : "stdout";
      return { source, position, time: moment, stream, isCut: isCut === 1, text: content };
    }),
  };
}

function isSource(value: unknown): value is LogSource {
  const { labels, attempt, ...texts } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const { node, namespace, pod, uid, container } = texts;
  return (
    [node, namespace, pod, uid, container].every((one) => typeof one === "string") &&
    Number.isSafeInteger(attempt) &&
    typeof labels === "object" &&
    labels !== null &&
    Object.values(labels).every((label) => typeof label === "string")
  );
}

const isLine = (value: unknown): value is LineFields => {
  if (!Array.isArray(value) || value.length !== 6) return false;
  const [source, position, time, isStderr, isCut, text] = value;
  return (
    [source, position, isStderr, isCut].every((one) => Number.isSafeInteger(one) && one >= 0) &&
    typeof time === "string" &&
    typeof text === "string"
  );
};
