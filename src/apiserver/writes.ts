// Create, update, patch and apply, from the body to the registry: decoded and defaulted in the version that was sent, tracked for
// managedFields in that version, then stored in the stored one.

import { inTurns, turn } from "#base/breathe.ts";
import { type ApiError, explain } from "#base/errors.ts";
import { hex } from "#base/hex.ts";
import type { Soon } from "#base/soon.ts";
import {
  type ApplyWrite,
  applyObject,
  applySteps,
  trackSteps,
  trackUpdate,
  type UpdateWrite,
} from "#schema/apply/apply.ts";
import { excluding, type Filter } from "#schema/apply/filter.ts";
import { decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { DecodeError, refuseManyValues } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { validateObject } from "#schema/validate.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import { badRequest, conflict, invalidObject, unsupportedMediaType } from "#wire/status.ts";
import { foreignKind, isOtherVersion } from "./foreign-kind.ts";
import { refuseTooLarge } from "./registry/object-size.ts";
import { parseWriteOptions, type WriteOptions } from "./registry/options.ts";
import { patched } from "./registry/patching.ts";
import { takeFrom, wipeSystemFields } from "./registry/prepare.ts";
import type { Registry } from "./registry/registry.ts";
import type { Strategy } from "./registry/strategy.ts";
import { mostValues, patchTypes } from "./request-body.ts";
import { answer, type ServedResource, type SubresourceHandler } from "./served-resource.ts";
import { fromStored, toStored } from "./versions.ts";

export const create: SubresourceHandler = async (request, served) => {
  const { kind, registry } = served;
  const options = parseWriteOptions(request, "CreateOptions");
  const decoding = decodeBody(request, kind, options);
  const { object, warnings } = decoding instanceof Promise ? await decoding : decoding;
  wipeSystemFields(object);
  checkNamespace(request, kind, object);
  const tracking = tracked(served, request, undefined, object, options, isLargeBody(request));
  const stored = tracking instanceof Promise ? await tracking : tracking;
  return answer(201, served, await registry.create(request, stored, options), warnings);
};

export const update: SubresourceHandler = async (request, served) => {
  const { kind, registry } = served;
  const options = parseWriteOptions(request, "UpdateOptions");
  const { object, warnings } = await decodeBody(request, kind, options);
  checkPlace(request, kind, object);
  const key = registry.keyOf(request.namespace, request.name ?? "");
  const { strategy } = registry.options;
  const { uid } = object.metadata;
  if (strategy.createOnUpdate && !request.subresource && !(await registry.current(key, request))) {
    if (uid) throw otherUid(registry, key, uid, "");
    delete object.metadata.resourceVersion;
    const stored = await tracked(served, request, undefined, object, options, isLargeBody(request));
    return answer(201, served, await registry.create(request, stored, options), warnings);
  }
  let decoded: DraftObject | undefined = object;
  const change = async (current: ApiObject, isLarge: boolean) => {
    const sent = decoded ?? (await decodeBody(request, kind, options)).object;
    decoded = undefined; // what is made of it is the registry's; another round begins with another
    checkPlace(request, kind, sent);
    if (uid && uid !== current.metadata.uid) throw otherUid(registry, key, uid, current.metadata.uid ?? "");
    if (request.subresource === "status") takeAllButStatus(kind, sent, fromStored(kind, current));
    return tracked(served, request, current, sent, options, isLarge);
  };
  return answer(200, served, await registry.update(request, key, change, options), warnings);
};

/** A body that names another object than the one that is there, in the words of upstream's store. */
const otherUid = ({ resource }: Registry, key: string, sent: string, present: string): ApiError =>
  conflict(
    resource,
    key.slice(key.lastIndexOf("/") + 1),
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${sent}, UID in object meta: ${present}`,
  );

/** Through `status` nothing else changes, whatever was sent. What is shared need not be compared. */
function takeAllButStatus(kind: AnyKind, object: DraftObject, live: ApiObject): void {
  for (const field of kind.model.fieldsOf(object, live)) if (field !== "status") takeFrom(object, live, field);
}

export const patch: SubresourceHandler = (request, served) =>
  request.body?.patchType === "apply" ? serverSideApply(request, served) : plainPatch(request, served);

async function plainPatch(request: ApiRequest, served: ServedResource): Promise<ApiResponse> {
  const { kind, registry } = served;
  const options = parseWriteOptions(request, "PatchOptions");
  const { body } = request;
  const type = body?.patchType;
  if (!body || !type || type === "apply") throw badRequest("the body of a patch is missing");
  if (type === "strategic" && !kind.model.publication.strategicPatch)
    throw unsupportedMediaType(Object.keys(patchTypes).filter((name) => patchTypes[name] !== "strategic"));
  const patch = decodeErrors(
    () => body.value(kind),
    (why) => badRequest(type === "strategic" ? why : `error decoding patch: ${why}`),
  );
  let warnings: readonly string[] = [];
  const key = registry.keyOf(request.namespace, request.name ?? "");
  const result = await registry.update(
    request,
    key,
    async (current, isLarge) => {
      const { object, strictErrors, invalid } = await patched(kind, type, fromStored(kind, current), patch, isLarge);
      warnings = strictProblems(strictErrors, options, invalid);
      object.metadata ??= {};
      checkPlace(request, kind, object);
      if (isLarge) await turn();
      const next = await tracked(served, request, current, applyDefaults(kind, object), options, isLarge);
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
  const configuration = configurationOf(
    decodeErrors(
      () => body?.value(kind),
      (why) => badRequest(`error decoding YAML: ${why}`),
    ),
  );
  const key = registry.keyOf(namespace, name);
  const now = registry.options.clock.now();
  const apply = async (live: ApiObject | undefined, isLarge: boolean): Promise<DraftObject> => {
    const write: ApplyWrite = {
      kind,
      versions,
      live: live && fromStored(kind, live),
      applied: configuration,
      manager: options.fieldManager,
      force: options.force,
      now,
      ...(subresource !== undefined && { subresource }),
      ...ownable(served, subresource),
    };
    const { object, managedFields } = isLarge ? await inTurns(applySteps(write)) : applyObject(write);
    if (isLarge) {
      await turn();
      refuseManyValues(object, mostValues);
      await turn();
    }
    const decoded = decodeErrors(() => decodeValue(kind, object));
    strictProblems(decoded.strictErrors, options, notOfKind(kind));
    if (isLarge) await turn();
    const next = toStored(kind, applyDefaults(kind, decoded.object as DraftObject));
    if (isLarge) await turn();
    if (isLarge) refuseTooLarge(next);
    next.metadata.managedFields = managedFields as never;
    const { uid } = next.metadata;
    if (!live && uid)
      throw conflict(
        registry.resource,
        name,
        `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      );
    checkPlace(request, kind, next);
    // Applying says what is wanted: it conflicts only if it names a resourceVersion itself.
    if (next.metadata.resourceVersion === live?.metadata.resourceVersion) delete next.metadata.resourceVersion;
    return next;
  };
  if (!subresource && !(await registry.current(key, request))) {
    const object = await apply(undefined, isLargeBody(request));
    delete object.metadata.resourceVersion;
    return answer(201, served, await registry.create(request, object, options));
  }
  return answer(200, served, await registry.update(request, key, apply, options));
}

/** Nothing at all reads as an empty object, which is then refused for not saying what it is. */
export function configurationOf(value: unknown): Readonly<Record<string, unknown>> {
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
  return { resetFields: resetFieldsOf(registry.options)[subresource === "status" ? "status" : "object"] };
}

interface ResetFields {
  readonly object: Filter;
  readonly status: Filter;
}
const resetFields = new WeakMap<object, ResetFields>();

/** What writers of the whole object can own, and those who write through `status`. */
function resetFieldsOf(registered: { readonly kind: AnyKind; readonly strategy: Strategy }): ResetFields {
  const known = resetFields.get(registered);
  if (known) return known;
  const { kind, strategy } = registered;
  const { unowned, statusKeeps = [] } = strategy;
  const others = kind.model.fieldNames.filter((field) => field !== "status");
  const made = {
    object: excluding("status", ...(unowned?.object ?? [])),
    status: excluding(...others, ...statusKeeps, ...(unowned?.status ?? [])),
  };
  resetFields.set(registered, made);
  return made;
}

/** The object in the stored version, with what this write owns noted in managedFields. */
function tracked(
  served: ServedResource,
  request: ApiRequest,
  current: ApiObject | undefined,
  object: DraftObject,
  options: WriteOptions,
  isLarge: boolean,
): Soon<DraftObject> {
  const { kind } = served;
  const update = () => updateOf(served, request, current, object, options);
  if (!isLarge) return owned(kind, object, trackUpdate(update()));
  const inSeveralTurns = async () => {
    await turn();
    refuseTooLarge(object);
    await turn();
    const managedFields = await inTurns(trackSteps(update()));
    await turn();
    return owned(kind, object, managedFields);
  };
  return inSeveralTurns();
}

function owned(kind: AnyKind, object: DraftObject, managedFields: readonly object[]): DraftObject {
  if (managedFields.length > 0) object.metadata.managedFields = managedFields as never;
  else delete object.metadata.managedFields;
  return toStored(kind, object);
}

/** What is to be tracked, once it is known to be worth it. */
function updateOf(
  served: ServedResource,
  { subresource }: ApiRequest,
  current: ApiObject | undefined,
  object: DraftObject,
  options: WriteOptions,
): UpdateWrite {
  const { kind, registry, versions } = served;
  if (kind.convert) refuseInvalid(kind, object, current);
  if (subresource === undefined) registry.options.strategy.prepareForTracking?.(object);
  return {
    kind,
    versions,
    live: current && fromStored(kind, current),
    updated: object as ApiObject,
    manager: options.fieldManager,
    now: registry.options.clock.now(),
    ...(subresource !== undefined && { subresource }),
    ...ownable(served, subresource),
  };
}

/** The registry checks the stored version; a version with rules of its own is checked before it is converted. */
function refuseInvalid(kind: AnyKind, object: DraftObject, current: ApiObject | undefined): void {
  if (!kind.check || !kind.convert) return;
  const problems = validateObject(kind.struct, object, current && fromStored(kind, current));
  // Upstream knows the object by its stored kind only.
  if (problems.length > 0) throw invalidObject(kind.convert.to(), object.metadata.name ?? "", problems);
}

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
  refuseForeign(kind, { kind: object.kind || undefined, apiVersion: object.apiVersion || undefined });
  object.kind = kind.kind;
  object.apiVersion = kind.apiVersion;
  const defaulted = (): DecodedBody => {
    // Defaults belong to the version that was sent, and to whoever sent it: managedFields name them, too.
    applyDefaults(kind, object);
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

const isLargeBody = ({ body }: ApiRequest): boolean => body?.isLarge ?? false;

/** Tells the client at once, so that it learns of it also when the object is then refused; what is left is for the answer. */
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
function checkNamespace(request: ApiRequest, kind: AnyKind, { metadata }: DraftObject): void {
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
