// A resourceVersion as clients send it.
import type { Revision } from "#store/engine.ts";
import { badRequest, unexpectedError } from "#wire/status.ts";

/** The number that a client sent along, if it is one. */
export const revisionOf = (text: string | undefined): Revision => (text && /^\d{1,15}$/.test(text) ? Number(text) : 0);

/** As upstream's store reads it: absent is 0, and what is no number is an error of Go. */
export function parseResourceVersion(text: string | undefined): bigint {
  if (!text) return 0n;
  const isNumber = /^\d+$/.test(text);
  if (isNumber && BigInt(text) < 2n ** 64n) return BigInt(text);
  throw unexpectedError(
    `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${isNumber ? "value out of range" : "invalid syntax"}`,
  );
}

/** The revision that a reader asks for. Undefined for an absent one, which means the newest. */
export function parseRevision(text: string, verb: "get" | "list" | "watch"): Revision | undefined {
  if (text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const quoted = JSON.stringify(text);
  const why = `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`;
  throw verb === "watch" ? unexpectedError(why) : badRequest(`invalid resource version: ${why}`);
}
