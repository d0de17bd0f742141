// A short name for a pod template: equal templates have equal names, and different ones almost always different ones.
// Upstream: pkg/controller/controller_utils.go and pkg/controller/history/controller_history.go.
import { PodTemplateSpec } from "#api/core/v1/pod-spec.ts";
import { goJson } from "#schema/apply/value.ts";
import { goDump } from "./go-dump.ts";

/** FNV-1a of 32 bits over what Go prints of the template: upstream's very hash, so that sets keep their names. */
export function templateHash(template: PodTemplateSpec, collisionCount?: number): string {
  let hash = offsetBasis;
  const add = (byte: number) => {
    hash = Math.imul(hash ^ byte, prime);
  };
  for (const byte of encoder.encode(goDump(PodTemplateSpec, template))) add(byte);
  if (collisionCount !== undefined) for (let i = 0; i < 8; i++) add(i < 4 ? (collisionCount >>> (8 * i)) & 0xff : 0);
  return letters(hash);
}

/** FNV-1 of 32 bits over the JSON of a revision's data: upstream's very hash, so that revisions keep their names. */
export function dataHash(data: unknown, collisionCount: number): string {
  let hash = offsetBasis;
  for (const byte of encoder.encode(goJson(data) + collisionCount)) hash = Math.imul(hash, prime) ^ byte;
  return letters(hash);
}

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;
const encoder = new TextEncoder();

/** The decimal digits as letters without vowels, so that no word comes of it. */
const letters = (hash: number): string =>
  [...String(hash >>> 0)].map((digit) => safe[digit.charCodeAt(0) % safe.length]).join("");
const safe = "bcdfghjklmnpqrstvwxz2456789";
