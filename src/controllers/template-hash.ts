// A short name for a pod template: equal templates have equal names, and different ones almost always different ones.
import type { PodTemplateSpec } from "#api/core/v1/pod-spec.ts";

/** FNV-1a of 32 bits, written as upstream writes it. The hash itself differs from upstream's, which is of Go's view of the struct. */
export function templateHash(template: PodTemplateSpec, collisionCount?: number): string {
  const bytes = [...encoder.encode(canonical(template))];
  if (collisionCount !== undefined)
    for (let i = 0; i < 8; i++) bytes.push(i < 4 ? (collisionCount >>> (8 * i)) & 0xff : 0);
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return [...String(hash >>> 0)].map((digit) => safe[digit.charCodeAt(0) % safe.length]).join("");
}

/** Without vowels, so that no word comes of it. */
const safe = "bcdfghjklmnpqrstvwxz2456789";
const encoder = new TextEncoder();

/** The JSON of a value, whatever order its fields are in. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join()}}`;
}
