// Upstream: staging/src/k8s.io/apiserver/pkg/admission/conversion.go.
import { setOwn } from "#base/collections.ts";
import { copyJson } from "#schema/apply/value.ts";
import { decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { converted } from "../../versions.ts";
import type { MatchedVersion, ReviewedRequest } from "./reviewed-request.ts";

/**
 * Puts what a webhook or a policy made of the object in its place. It comes in the version that they saw, and may be anything: it is decoded
 * and defaulted as if a client had sent it. Throws DecodeError.
 */
export async function replaceObject(request: ReviewedRequest, matched: MatchedVersion, value: unknown): Promise<void> {
  const target = request.asked.object;
  if (!target) throw new Error("there is no object to be changed");
  const kind = request.objectKind(matched);
  const copy = copyJson(value);
  const decoded = kind ? (applyDefaults(kind, decodeValue(kind, copy).object as never) as DraftObject) : copy;
  const to = request.versionOf(target as ApiObject);
  const next = request.sendsOther ? decoded : await converted(matched.version, to, decoded as ApiObject);
  assign(target, next as DraftObject);
  request.changed();
}

/** Everybody on the way holds the object itself, so it is its content that changes. */
function assign(target: DraftObject, next: DraftObject): void {
  for (const field of Object.keys(target)) delete target[field];
  for (const [field, value] of Object.entries(next)) setOwn(target, field, value);
}
