// A short name for a pod template: equal templates have equal names, and different ones almost always different ones.
import type { PodTemplateSpec } from "#api/core/v1/pod-spec.ts";

/** FNV-1a of 32 bits, written as upstream writes it. The hash itself differs from upstream's, which is of Go's view of the struct. */
export function templateHash(template: PodTemplateSpec, collisionCount?: number): string {
  const bytes = [...encoder.encode(canonicalJson(template))];
  if (collisionCount !== undefined)
    for (let i = 0; i < 8; i++) bytes.push(i < 4 ? (collisionCount >>> (8 * i)) & 0xff : 0);
  let hash = offsetBasis;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, prime);
  return letters(hash);
}

/** FNV-1 of 32 bits over the JSON of a revision's data: upstream's very hash, so that revisions keep their names. */
export function dataHash(data: unknown, collisionCount: number): string {
  let hash = offsetBasis;
  for (const byte of encoder.encode(canonicalJson(data) + collisionCount)) hash = Math.imul(hash, prime) ^ byte;
  return letters(hash);
}

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;
const encoder = new TextEncoder();

/** The decimal digits as letters without vowels, so that no word comes of it. */
const letters = (hash: number): string =>
  [...String(hash >>> 0)].map((digit) => safe[digit.charCodeAt(0) % safe.length]).join("");
const safe = "bcdfghjklmnpqrstvwxz2456789";

/** The JSON of a value as Go writes that of a map: keys in order, and nothing in it that HTML would take for its own. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== "object" || value === null) return goText(value);
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, inner]) => `${goText(key)}:${canonicalJson(inner)}`).join()}}`;
}

const goText = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
