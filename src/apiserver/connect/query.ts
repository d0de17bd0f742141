// Options of a connection, as they stand in a query.
import { badRequest } from "#wire/status.ts";

/** Absent, `false` and `0` mean no; everything else, even nothing at all, means yes. */
export function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && !["false", "0"].includes(value.toLowerCase());
}

export function integer(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  return value === null ? undefined : parseInteger(value);
}

/** Several ports may stand in one parameter, with commas between them. */
export const ports = (query: URLSearchParams, name: string): readonly number[] =>
  query.getAll(name).flatMap((value) => value.split(",").map(parsePort));

function parsePort(text: string): number {
  const refuse = (why: string) =>
    badRequest(`cannot convert to []int32: strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`);
  if (!/^\d+$/.test(text)) throw refuse("invalid syntax");
  if (Number(text) > 65535) throw refuse("value out of range");
  return Number(text);
}

function parseInteger(text: string): number {
  const refuse = (why: string) => badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`);
  if (!/^[+-]?\d+$/.test(text)) throw refuse("invalid syntax");
  if (BigInt.asIntN(64, BigInt(text)) !== BigInt(text)) throw refuse("value out of range");
  return Number(text);
}

/** A time as RFC 3339 writes it, to the second. */
export function time(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(name);
  if (value === null || value === "" || value === "null") return undefined;
  const isTime = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(value);
  const at = isTime ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at))
    throw badRequest(`parsing time ${JSON.stringify(value)} as "2006-01-02T15:04:05Z07:00": it is no such time`);
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
