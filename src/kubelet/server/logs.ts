// The log of a container, as asked for.
import { millisOf, TimeError, timeOf } from "#schema/time.ts";
import type { ContainerLog, LogLine } from "./streams.ts";

export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  /** Milliseconds since 1970. */
  readonly since: number | undefined;
}

/** The options in a query, or undefined if they make no sense. */
export function logOptions(query: URLSearchParams, now: number): LogOptions | undefined {
  const flag = (name: string) => query.get(name) === "true" || query.get(name) === "1";
  const counts = ["tailLines", "limitBytes", "sinceSeconds"].map((name) => count(query.get(name)));
  const [tailLines, limitBytes, sinceSeconds] = counts;
  const sinceTime = moment(query.get("sinceTime"));
  if (counts.includes(null) || sinceTime === null || limitBytes === 0 || sinceSeconds === 0) return undefined;
  return {
    follow: flag("follow"),
    previous: flag("previous"),
    timestamps: flag("timestamps"),
    tailLines: tailLines ?? undefined,
    limitBytes: limitBytes ?? undefined,
    since: sinceSeconds ? now - sinceSeconds * 1000 : sinceTime,
  };
}

const count = (text: string | null): number | undefined | null =>
  text === null ? undefined : /^\d{1,15}$/.test(text) ? Number(text) : null;

function moment(text: string | null): number | undefined | null {
  if (text === null) return undefined;
  try {
    return millisOf(text);
  } catch (error) {
    if (error instanceof TimeError) return null;
    throw error;
  }
}

/** The lines that were asked for, as text. */
export async function* logText(
  { past, live }: ContainerLog,
  { since, tailLines, timestamps, limitBytes, follow }: LogOptions,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const bytesOf = ({ at, text }: LogLine) => encoder.encode(timestamps ? `${nanoTime(at)} ${text}\n` : `${text}\n`);
  let left = limitBytes ?? Number.POSITIVE_INFINITY;
  const recent = since === undefined ? past : past.filter(({ at }) => at >= since);
  const lines = tailLines === undefined ? recent : tailLines === 0 ? [] : recent.slice(-tailLines);
  for (const line of lines) {
    const bytes = bytesOf(line).subarray(0, left);
    if (bytes.length > 0) yield bytes;
    left -= bytes.length;
    if (left <= 0) return;
  }
  if (!follow) return;
  for await (const line of live) {
    const bytes = bytesOf(line).subarray(0, left);
    yield bytes;
    left -= bytes.length;
    if (left <= 0) return;
  }
}

const nanoTime = (at: number): string =>
  timeOf(at).replace("Z", `.${String(Math.floor(at) % 1000).padStart(3, "0")}000000Z`);
