// What a mutating webhook makes of the object.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go.
import { equal } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import { quote } from "#base/quote.ts";
import { copyJson } from "#schema/apply/value.ts";
import { DecodeError } from "#schema/json.ts";
import { PatchError } from "#schema/patch/error.ts";
import { applyJsonPatch } from "#schema/patch/json-patch.ts";
import { internalError, serviceUnavailable } from "#wire/status.ts";
import { replaceObject } from "../matching/replace-object.ts";
import type { MatchedVersion, ReviewedRequest } from "../matching/reviewed-request.ts";
import { CallingFailed } from "./call.ts";
import type { AdmissionHook } from "./hooks.ts";
import { InvalidReview, operationsIn, type ReviewAnswer } from "./review.ts";

const patchPrefix = "patch.webhook.admission.k8s.io/";

/** Changes the object as a webhook wants it. Whether that made a difference. */
export async function patchObject(
  request: ReviewedRequest,
  matched: MatchedVersion,
  hook: AdmissionHook,
  { patch, patchType }: ReviewAnswer,
  place: string,
): Promise<boolean> {
  if (patch === "") return false;
  const { configuration, webhook } = hook;
  const operations = decoded(webhook.name, patch);
  if (operations.length === 0) return false;
  const object = await request.object(matched);
  if (!object)
    throw internalError(
      `admission webhook ${quote(webhook.name)} attempted to modify the object, which is not supported for this operation`,
    );
  if (patchType !== "JSONPatch")
    throw new CallingFailed(
      webhook.name,
      `unsupported patch type ${quote(patchType)}`,
      serviceUnavailable("patch type"),
    );
  const before = copyJson(object);
  try {
    await replaceObject(request, matched, applyJsonPatch(object, operations));
  } catch (error) {
    if (error instanceof PatchError || error instanceof DecodeError) throw internalError(error.message);
    if (error instanceof ApiError) throw internalError(error.message);
    throw error;
  }
  const noted = { configuration, webhook: webhook.name, patch: operations, patchType };
  request.asked.annotate(patchPrefix + place, JSON.stringify(noted));
  return !equal(before, await request.object(matched));
}

function decoded(hook: string, patch: string): readonly unknown[] {
  try {
    return operationsIn(patch);
  } catch (cause) {
    if (!(cause instanceof InvalidReview)) throw cause;
    const status = serviceUnavailable("error decoding patch in webhook response");
    throw new CallingFailed(hook, `received undecodable patch in webhook response: ${cause.message}`, status, {
      cause,
    });
  }
}
