// Create, update, patch and apply, from the body to the registry: decoded and defaulted in the version that was sent, tracked for
// managedFields in that version, then stored in the stored one.

import { type ApiError, explain } from "#base/errors.ts";
import { hex } from "#base/hex.ts";
import { applyObject, trackUpdate } from "#schema/apply/apply.ts";
import { excluding, including } from "#schema/apply/filter.ts";
import { decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { DecodeError } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { validateObject } from "#schema/validate.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import { badRequest, invalidObject } from "#wire/status.ts";
import { parseWriteOptions, type WriteOptions } from "./registry/options.ts";
import { patched } from "./registry/patching.ts";
import { takeFrom } from "./registry/prepare.ts";
import { answer, type ServedResource, type SubresourceHandler } from "./served-resource.ts";
import { fromStored, toStored } from "./versions.ts";

export const create: SubresourceHandler = async (request, served) => {
  const { kind, registry } = served;
  const options = parseWriteOptions(request, "CreateOptions");
  const { object, warnings } = decodeBody(request, kind, options);
  checkPlace(request, kind, object);
  const stored = tracked(served, request, undefined, object, options);
  return answer(201, served, await registry.create(request, stored, options), warnings);
};

export const update: SubresourceHandler = async (request, served) => {
  const { kind, registry } = served;
  const options = parseWriteOptions(request, "UpdateOptions");
  const { object, warnings } = decodeBody(request, kind, options);
  checkPlace(request, kind, object);
  const key = registry.keyOf(request.namespace, request.name ?? "");
  const { strategy } = registry.options;
  if (strategy.needsResourceVersion && !object.metadata.resourceVersion)
    throw invalidObject({ group: kind.group, kind: kind.plural }, object.metadata.name ?? "", [
      { type: "Invalid", field: "metadata.resourceVersion", value: 0, detail: "must be specified for an update" },
    ]);
  if (strategy.createOnUpdate && !request.subresource && !(await registry.current(key, request.signal))) {
    const stored = tracked(served, request, undefined, object, options);
    return answer(201, served, await registry.create(request, stored, options), warnings);
  }
  let decoded: DraftObject | undefined = object;
  const change = (current: ApiObject) => {
    const sent = decoded ?? decodeBody(request, kind, options).object;
    decoded = undefined; // what is made of it is the registry's; another round begins with another
    checkPlace(request, kind, sent);
    if (request.subresource === "status") takeAllButStatus(kind, sent, fromStored(kind, current));
    return tracked(served, request, current, sent, options);
  };
  return answer(200, served, await registry.update(request, key, change, options), warnings);
};

/** Through `status` nothing else changes, whatever was sent. What is shared need not be compared. */
function takeAllButStatus(kind: AnyKind, object: DraftObject, live: ApiObject): void {
  for (const field of Object.keys(kind.fields)) if (field !== "status") takeFrom(object, live, field);
}

export const patch: SubresourceHandler = (request, served) =>
  request.body?.patchType === "apply" ? serverSideApply(request, served) : plainPatch(request, served);

async function plainPatch(request: ApiRequest, served: ServedResource): Promise<ApiResponse> {
  const { kind, registry } = served;
  const options = parseWriteOptions(request, "PatchOptions");
  const { body } = request;
  const type = body?.patchType;
  if (!body || !type || type === "apply") throw badRequest("the body of a patch is missing");
  const patch = decodeErrors(
    () => body.value(),
    (why) => badRequest(type === "strategic" ? why : `error decoding patch: ${why}`),
  );
  let warnings: readonly string[] = [];
  const key = registry.keyOf(request.namespace, request.name ?? "");
  const result = await registry.update(
    request,
    key,
    (current) => {
      const { object, strictErrors, invalid } = patched(kind, type, fromStored(kind, current), patch);
      warnings = strictProblems(strictErrors, options, invalid);
      const next = tracked(served, request, current, applyDefaults(kind, object), options);
      // A patch says what changes: it conflicts only if it names a resourceVersion itself.
      if (next.metadata.resourceVersion === current.metadata.resourceVersion) delete next.metadata.resourceVersion;
      return next;
    },
    options,
  );
  return answer(200, served, result, warnings);
}

async function serverSideApply(request: ApiRequest, served: ServedResource): Promise<ApiResponse> {
  const { kind, registry, versions } = served;
  const options = parseWriteOptions(request, "PatchOptions");
  const { body, name = "", namespace, subresource } = request;
  const applied = configurationOf(
    decodeErrors(
      () => body?.value(),
      (why) => badRequest(`error decoding YAML: ${why}`),
    ),
  );
  const key = registry.keyOf(namespace, name);
  const now = registry.options.clock.now();
  const apply = (live: ApiObject | undefined): DraftObject => {
    const { object, managedFields } = applyObject({
      kind,
      versions,
      live: live && fromStored(kind, live),
      applied,
      manager: options.fieldManager,
      force: options.force,
      now,
      ...(subresource !== undefined && { subresource }),
      ...ownable(served, subresource),
    });
    const decoded = decodeErrors(() => decodeValue(kind, object));
    strictProblems(decoded.strictErrors, options, notOfKind(kind));
    const next = toStored(kind, applyDefaults(kind, decoded.object as DraftObject));
    next.metadata.managedFields = managedFields as never;
    if (live) delete next.metadata.resourceVersion;
    return next;
  };
  if (!subresource && !(await registry.current(key, request.signal))) {
    const object = apply(undefined);
    checkPlace(request, kind, object);
    return answer(201, served, await registry.create(request, object, options));
  }
  return answer(200, served, await registry.update(request, key, apply, options));
}

/** Nothing at all reads as an empty object, which is then refused for not saying what it is. */
function configurationOf(value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Readonly<Record<string, unknown>>;
  const type = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  throw badRequest(
    `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`,
  );
}

/** Which fields a writer can own: through the main resource all but the status, through `status` nothing else. */
function ownable({ kind, registry }: ServedResource, subresource: string | undefined) {
  const part = subresource === undefined ? undefined : registry.options.strategy.parts?.[subresource];
  if (part) return { resetFields: part.owned };
  if (!kind.subresources?.status) return {};
  return { resetFields: subresource === "status" ? statusAlone : allButStatus };
}

const statusAlone = including("status", "metadata");
const allButStatus = excluding("status");

/** The object in the stored version, with what this write owns noted in managedFields. */
function tracked(
  served: ServedResource,
  request: ApiRequest,
  current: ApiObject | undefined,
  object: DraftObject,
  options: WriteOptions,
): DraftObject {
  const { kind, registry, versions } = served;
  const { subresource } = request;
  if (kind.convert) refuseInvalid(kind, object);
  const managedFields = trackUpdate({
    kind,
    versions,
    live: current && fromStored(kind, current),
    updated: object as ApiObject,
    manager: options.fieldManager,
    now: registry.options.clock.now(),
    ...(subresource !== undefined && { subresource }),
    ...ownable(served, subresource),
  });
  if (managedFields.length > 0) object.metadata.managedFields = managedFields as never;
  else delete object.metadata.managedFields;
  return toStored(kind, object);
}

/** The registry checks the stored version; a version with rules of its own is checked before it is converted. */
function refuseInvalid(kind: AnyKind, object: DraftObject): void {
  if (!kind.check) return;
  const problems = validateObject(kind.struct, object);
  if (problems.length > 0) throw invalidObject(kind, object.metadata.name ?? "", problems);
}

export function decodeBody(
  request: ApiRequest,
  kind: AnyKind,
  options: WriteOptions,
): { object: DraftObject; warnings: readonly string[] } {
  const { body } = request;
  if (!body) throw unrecognized(kind, "unexpected end of JSON input", new Uint8Array());
  const { object, strictErrors } = decodeErrors(
    () => body.decode(kind),
    (why, { isSyntax }) => (isSyntax ? unrecognized(kind, why, body.bytes) : notOfKind(kind)(why)),
  );
  if (object.kind && object.kind !== kind.kind)
    throw badRequest(
      `${object.kind} in version ${JSON.stringify(object.apiVersion ?? kind.version)} cannot be handled as a ${kind.kind}: expected kind ${kind.kind}`,
    );
  if (object.apiVersion && object.apiVersion !== kind.apiVersion)
    throw badRequest(
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${kind.apiVersion})`,
    );
  // Defaults belong to the version that was sent, and to whoever sent it: managedFields name them, too.
  applyDefaults(kind, object);
  return { object: object as DraftObject, warnings: strictProblems(strictErrors, options, notOfKind(kind)) };
}

/** What strict decoding found is an error, a warning or nothing, as the client wishes. */
function strictProblems(
  strictErrors: readonly string[],
  { fieldValidation }: WriteOptions,
  refuse: (detail: string) => ApiError,
): readonly string[] {
  if (strictErrors.length === 0 || fieldValidation === "Ignore") return [];
  if (fieldValidation === "Warn") return strictErrors;
  throw refuse(`strict decoding error: ${strictErrors.join(", ")}`);
}

const notOfKind =
  ({ kind, version }: AnyKind) =>
  (detail: string): ApiError =>
    badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${detail}`);

function decodeErrors<T>(
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
  return badRequest(
    `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: ${why} (${summary})`,
  );
}

const mostShown = 30;

/** Name and namespace in the path rule; the object may leave them out, but not contradict. */
function checkPlace(request: ApiRequest, kind: AnyKind, object: DraftObject): void {
  const { metadata } = object;
  if (kind.scope === "Namespaced") {
    metadata.namespace ??= request.namespace ?? "";
    if (metadata.namespace !== request.namespace)
      throw badRequest(`the namespace of the provided object does not match the namespace sent on the request`);
  }
  if (request.name === undefined) return;
  metadata.name ??= request.name;
  if (metadata.name !== request.name)
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${request.name})`);
}
