// The body of a write, decoded and defaulted in the version that was sent, and what is wrong with it.
import { turn } from "#base/breathe.ts";
import { type ApiError, explain } from "#base/errors.ts";
import { hex } from "#base/hex.ts";
import type { Soon } from "#base/soon.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { DecodeError } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { DraftObject } from "#schema/object.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { badRequest } from "#wire/status.ts";
import { foreignKind, isOtherVersion, wrongNames } from "../foreign-kind.ts";
import type { WriteOptions } from "../registry/options.ts";

interface DecodedBody {
  readonly object: DraftObject;
  readonly warnings: readonly string[];
}

/** At once, unless it is so large that its defaults take a turn of their own. */
export function decodeBody(request: ApiRequest, kind: AnyKind, options: WriteOptions): Soon<DecodedBody> {
  const { body } = request;
  if (!body) throw unrecognized(kind, `${noVersion}: unexpected end of JSON input`);
  const { object, strictErrors } = decodeErrors(
    () => body.decode(kind),
    (why, { syntax, mismatch, field }) => {
      if (mismatch && field === "") return unrecognized(kind, noObject(mismatch.value), body.bytes);
      if (syntax === undefined) return notOfKind(kind)(why);
      return unrecognized(kind, syntax === "json" ? `${noVersion}: ${why}` : why, body.bytes);
    },
  );
  if (kind.model.publication.isUnstructured && body.bytes) refuseUnnamed(kind, object as DraftObject, body.bytes);
  else refuseForeign(kind, { kind: object.kind || undefined, apiVersion: object.apiVersion || undefined });
  object.kind = kind.kind;
  object.apiVersion = kind.apiVersion;
  const defaulted = (): DecodedBody => {
    // Defaults belong to the version that was sent, and to whoever sent it: managedFields name them, too.
    applyDefaults(kind, object);
    request.audit?.sentObject(object);
    return {
      object: object as DraftObject,
      warnings: told(request, strictProblems(strictErrors, options, notOfKind(kind))),
    };
  };
  return isLargeBody(request) ? turn().then(defaulted) : defaulted();
}

function refuseForeign(kind: AnyKind, sent: { readonly kind?: string; readonly apiVersion?: string }): void {
  const why = foreignKind(kind, sent);
  if (why === undefined) return;
  const { apiVersion = kind.apiVersion } = sent;
  if (isOtherVersion(kind, sent))
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${kind.apiVersion})`,
    );
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  throw badRequest(
    `${sent.kind ?? kind.kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind.kind}: ${why}`,
  );
}

/** A custom resource must say what it is. */
function refuseUnnamed(kind: AnyKind, object: DraftObject, bytes: Uint8Array): void {
  if (!object.kind) throw unrecognized(kind, `Object 'Kind' is missing in '${new TextDecoder().decode(bytes)}'`, bytes);
  if (object.apiVersion !== kind.apiVersion)
    throw badRequest(
      `the API version in the data (${object.apiVersion ?? ""}) does not match the expected API version (${kind.apiVersion})`,
    );
  const refusal = wrongNames(kind, object, object.metadata?.name);
  if (refusal) throw refusal;
}

export const isLargeBody = ({ body }: ApiRequest): boolean => body?.isLarge ?? false;

/** Sends warnings at once, so that the client gets them also when the object is refused later; the rest goes into the response. */
function told({ warn }: ApiRequest, warnings: readonly string[]): readonly string[] {
  if (!warn) return warnings;
  for (const text of warnings) warn(text);
  return [];
}

/** What strict decoding found is an error, a warning or nothing, as the client wishes. */
export function strictProblems(
  strictErrors: readonly string[],
  { fieldValidation }: WriteOptions,
  refuse: (detail: string) => ApiError,
): readonly string[] {
  if (strictErrors.length === 0 || fieldValidation === "Ignore") return [];
  if (fieldValidation === "Warn") return strictErrors;
  throw refuse(`strict decoding error: ${strictErrors.join(", ")}`);
}

export const notOfKind =
  ({ kind, version }: AnyKind) =>
  (detail: string): ApiError =>
    badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${detail}`);

export function decodeErrors<T>(
  work: () => T,
  refuse: (why: string, error: DecodeError) => ApiError = (why) => badRequest(why),
): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw refuse(explain(error), error);
  }
}

/** What a body that is no JSON at all is answered with: its beginning, as text if it looks like an object. */
function unrecognized({ kind }: AnyKind, why: string, body: Uint8Array = new Uint8Array()): ApiError {
  const isObject = body[0] === 0x7b;
  const start = body.subarray(0, mostShown);
  const shown = isObject ? new TextDecoder().decode(start) : hex(start);
  const summary = body.length === 0 ? "<empty>" : `${shown}${body.length > mostShown ? " ..." : ""}`;
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${summary})`);
}

const mostShown = 30;

const noVersion = "couldn't get version/kind; json parse error";

/** A body that is JSON, but no object, is refused by what looks for its kind. */
const noObject = (value: unknown): string =>
  `${noVersion}: json: cannot unmarshal ${goKind(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;

const goKind = (value: unknown): string =>
  Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;

/** The namespace in the path rules: the object may leave it out, but not contradict. Where there is none it is forgotten. */
export function checkNamespace(request: ApiRequest, kind: AnyKind, { metadata }: DraftObject): void {
  if (kind.scope === "Cluster") {
    delete metadata.namespace;
    return;
  }
  metadata.namespace ||= request.namespace ?? "";
  if (metadata.namespace !== request.namespace)
    throw badRequest(`the namespace of the provided object does not match the namespace sent on the request`);
}

/** The same for the name, which an object must not leave out. */
export function checkPlace(request: ApiRequest, kind: AnyKind, object: DraftObject): void {
  checkNamespace(request, kind, object);
  const { name } = object.metadata;
  if (!name)
    throw badRequest(`the name of the object (${request.name} based on URL) was undeterminable: name must be provided`);
  if (name !== request.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${request.name})`);
}
