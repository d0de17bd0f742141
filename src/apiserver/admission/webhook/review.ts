// What a webhook is asked and what it may answer: AdmissionReview v1 and v1beta1.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go and
// staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go.
import { fromBase64 } from "#base/base64.ts";
import { ApiError, type StatusDetails } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { quote } from "#base/quote.ts";
import { DecodeError, parseJson } from "#schema/json.ts";
import type { MatchedVersion, ReviewedRequest } from "../matching/reviewed-request.ts";

export type ReviewVersion = "v1" | "v1beta1";

/** The first version that both sides know. */
export const reviewVersionOf = (accepted: readonly string[]): ReviewVersion | undefined =>
  accepted.find((version): version is ReviewVersion => version === "v1" || version === "v1beta1");

export interface ReviewQuestion {
  readonly uid: string;
  readonly version: ReviewVersion;
  readonly isMutating: boolean;
}

/** The JSON to send. */
export async function reviewBody(
  { uid, version }: ReviewQuestion,
  request: ReviewedRequest,
  matched: MatchedVersion,
): Promise<string> {
  const object = (await request.object(matched)) ?? null;
  const oldObject = (await request.old(matched)) ?? null;
  return JSON.stringify({
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${version}`,
    request: { uid, ...requestAttributes(request, matched), object, oldObject },
  });
}

/** What is said of a request besides its objects; `request` of policies is the same. */
export function requestAttributes(request: ReviewedRequest, { resource, kind }: MatchedVersion) {
  const { made, name, namespace, operation, asked } = request;
  const { subresource, user, dryRun } = asked;
  return {
    kind,
    resource,
    ...(subresource && { subResource: subresource }),
    requestKind: made.kind,
    requestResource: made.resource,
    ...(subresource && { requestSubResource: subresource }),
    ...(name && { name }),
    ...(namespace && { namespace }),
    operation,
    userInfo: {
      username: user.name,
      ...(user.uid && { uid: user.uid }),
      ...(user.groups.length > 0 && { groups: user.groups }),
      ...(user.extra && { extra: user.extra }),
    },
    dryRun,
    options: request.options() ?? null,
  };
}

export interface ReviewAnswer {
  readonly isAllowed: boolean;
  readonly status: Readonly<Record<string, unknown>> | undefined;
  readonly patch: string;
  readonly patchType: string;
  readonly auditAnnotations: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

/** An answer that is not one to the question. The message is upstream's. */
export class InvalidReview extends Error {
  override readonly name = "InvalidReview";
}

/** Reads an answer. Throws InvalidReview. */
export function readReview(value: unknown, { uid, version, isMutating }: ReviewQuestion): ReviewAnswer {
  const review = isObject(value) ? value : {};
  const { response } = review;
  if (!isObject(response)) throw new InvalidReview("webhook response was absent");
  const patch = decodedPatch(response.patch);
  const { patchType } = response;
  if (version === "v1") {
    if (response.uid !== uid)
      throw new InvalidReview(`expected response.uid=${quote(uid)}, got ${quote(text(response.uid))}`);
    const { group, version: given } = groupOf(text(review.apiVersion));
    if (review.kind !== "AdmissionReview" || group !== "admission.k8s.io" || given !== "v1")
      throw new InvalidReview(
        `expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${group}/${given}, Kind=${text(review.kind)}`,
      );
    checkPatch(isMutating, patch, patchType);
  }
  return {
    isAllowed: response.allowed === true,
    status: isObject(response.status) ? response.status : undefined,
    patch: isMutating ? patch : "",
    patchType: version === "v1" ? text(patchType) : "JSONPatch",
    auditAnnotations: textsOf(response.auditAnnotations),
    warnings: (Array.isArray(response.warnings) ? response.warnings : []).filter((one) => typeof one === "string"),
  };
}

function checkPatch(isMutating: boolean, patch: string, patchType: unknown): void {
  const hasType = patchType !== undefined && patchType !== null;
  if (!isMutating) {
    if (patch !== "") throw new InvalidReview("validating webhook may not return response.patch");
    if (hasType) throw new InvalidReview("validating webhook may not return response.patchType");
    return;
  }
  if (patch !== "" && !hasType) throw new InvalidReview("webhook returned response.patch but not response.patchType");
  if (patch === "" && hasType) throw new InvalidReview("webhook returned response.patchType but not response.patch");
  if (hasType && text(patchType) === "") throw new InvalidReview('webhook returned invalid response.patchType of ""');
}

function decodedPatch(patch: unknown): string {
  if (typeof patch !== "string" || patch === "") return "";
  const bytes = fromBase64(patch);
  if (!bytes) throw new InvalidReview("illegal base64 data in response.patch");
  return new TextDecoder().decode(bytes);
}

/** The operations of a patch. Throws InvalidReview. */
export function operationsIn(patch: string): readonly unknown[] {
  try {
    const { value } = parseJson(patch);
    if (Array.isArray(value)) return value;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new InvalidReview(error.message);
  }
  throw new InvalidReview("json: cannot unmarshal object into Go value of type jsonpatch.Patch");
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

const textsOf = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    ),
  );

function groupOf(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf("/");
  return { group: apiVersion.slice(0, Math.max(0, slash)), version: apiVersion.slice(slash + 1) };
}

/** What the client is told when a webhook says no. */
export function denial(name: string, status: ReviewAnswer["status"] = {}): ApiError {
  const by = `admission webhook ${quote(name)} denied the request`;
  const [message, reason] = [text(status.message), text(status.reason)];
  const why = message || reason;
  const details = isObject(status.details) ? (status.details as StatusDetails) : undefined;
  return new ApiError({
    code: codeOf(status.code),
    reason,
    message: why ? `${by}: ${why}` : `${by} without explanation`,
    ...(details && { details }),
  });
}

/** A refusal is never told as a success, nor with a code that HTTP has not. */
const codeOf = (code: unknown): number =>
  typeof code === "number" && Number.isInteger(code) && code >= 400 && code <= 999 ? code : 400;
