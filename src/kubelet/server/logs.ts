// The log of a container, as asked for.
import { millisOf, TimeError } from "#schema/time.ts";
import { concat } from "#wire/streams/websocket-frames.ts";
import type { LogEntry, LogQuery } from "./streams.ts";

export interface ContainerLogOptions extends LogQuery {
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly limitBytes: number | undefined;
  /** Milliseconds since 1970. */
  readonly since: number | undefined;
}

/** Why a query is refused, and with which code. */
export interface LogRefusal {
  readonly code: 400 | 422;
  readonly why: string;
}

const invalid: LogRefusal = { code: 422, why: '{"message": "Invalid request."}' };
const unreadable: LogRefusal = { code: 400, why: '{"message": "Unable to decode query."}' };

export function logOptions(query: URLSearchParams, now: number): ContainerLogOptions | LogRefusal {
  const flag = (name: string) => query.has(name) && !["false", "0"].includes(query.get(name)?.toLowerCase() ?? "");
  const tail = query.get("tail") || query.get("tailLines"); // the former is what it was called long ago
  const counts = [tail === "all" ? null : tail, query.get("limitBytes"), query.get("sinceSeconds")].map(count);
  const [tailLines, limitBytes, sinceSeconds] = counts as [number?, number?, number?];
  const sinceTime = moment(query.get("sinceTime"));
  if (counts.includes(null) || sinceTime === null) return unreadable;
  const stream = query.get("stream");
  if (stream !== null && stream !== "All") return { code: 400, why: noStreams(stream) };
  if ((tailLines ?? 0) < 0 || (limitBytes ?? 1) < 1 || (sinceSeconds ?? 1) < 1) return invalid;
  if (sinceSeconds !== undefined && sinceTime !== undefined) return invalid;
  return {
    follow: flag("follow"),
    previous: flag("previous"),
    timestamps: flag("timestamps"),
    tailLines,
    limitBytes,
    since: sinceSeconds === undefined ? sinceTime : now - sinceSeconds * 1000,
  };
}

const noStreams = (stream: string) =>
  `unable to return the given log stream: ${JSON.stringify(stream)}. Please enable PodLogsQuerySplitStreams feature gate in kubelet`;

/** Null for what is no number. */
const count = (text: string | null): number | undefined | null =>
  text === null ? undefined : /^[+-]?\d{1,15}$/.test(text) ? Number(text) : null;

function moment(text: string | null): number | undefined | null {
  if (text === null) return undefined;
  try {
    return millisOf(text);
  } catch (error) {
    if (error instanceof TimeError) return null;
    throw error;
  }
}

/** What was asked for of the entries, as bytes. */
export async function* logText(
  log: AsyncIterable<readonly LogEntry[]>,
  { since, timestamps, limitBytes = Number.POSITIVE_INFINITY }: ContainerLogOptions,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let bytesLeft = limitBytes;
  let isNewLine = true;
  for await (const entries of log) {
    const pieces: Uint8Array[] = [];
    for (const { time, bytes } of entries) {
      if (since !== undefined && Date.parse(time) < since) continue;
      if (timestamps && isNewLine) pieces.push(encoder.encode(`${time} `));
      pieces.push(bytes);
      isNewLine = bytes.length === 0 || bytes.at(-1) === 10;
    }
    const text = concat(...pieces).subarray(0, bytesLeft);
    if (text.length > 0) yield text;
    bytesLeft -= text.length;
    if (bytesLeft <= 0) return;
  }
}
