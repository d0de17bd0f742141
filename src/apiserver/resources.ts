// From a verb on a resource to the registry that serves it, in the version that was asked for.
import { explain } from "#base/errors.ts";
import { applyObject, trackUpdate } from "#schema/apply/apply.ts";
import { excluding, including } from "#schema/apply/filter.ts";
import { decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { DecodeError } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { ApiRequest, ApiResponse, EncodedObject, RequestVerb } from "#wire/api-request.ts";
import { badRequest, invalidObject, methodNotAllowed, successStatus, unknownPath } from "#wire/status.ts";
import { deleteObject } from "./registry/deletion.ts";
import { parseDeleteOptions, parseListOptions, parseWriteOptions, type WriteOptions } from "./registry/options.ts";
import { patched } from "./registry/patching.ts";
import { getObject, listObjects, watchObjects } from "./registry/reader.ts";
import type { Registry } from "./registry/registry.ts";

/** A resource in one version. */
export interface ServedResource {
  readonly kind: AnyKind;
  readonly registry: Registry;
  /** Subresources with code of their own, by name. */
  readonly subresources: Readonly<Record<string, SubresourceHandler>>;
}

/** Answers every verb of a subresource. */
export type SubresourceHandler = (request: ApiRequest, served: ServedResource) => Promise<ApiResponse>;

export class Resources {
  readonly #served: ReadonlyMap<string, ServedResource>;

  constructor(served: readonly ServedResource[]) {
    this.#served = new Map(served.map((one) => [`${one.kind.group}/${one.kind.version}/${one.kind.plural}`, one]));
  }

  find(group: string, version: string, resource: string): ServedResource | undefined {
    return this.#served.get(`${group}/${version}/${resource}`);
  }

  async handle(request: ApiRequest): Promise<ApiResponse> {
    const served = this.find(request.group, request.version, request.resource);
    if (!served) throw unknownPath();
    const { subresource } = request;
    if (subresource !== undefined && subresource !== "status") {
      const handler = served.subresources[subresource];
      if (!handler) throw unknownPath();
      return handler(request, served);
    }
    if (subresource === "status" && !served.kind.subresources?.status) throw unknownPath();
    const allowed: readonly string[] = subresource === "status" ? ["get", "update", "patch"] : served.kind.verbs;
    if (!allowed.includes(request.verb)) throw methodNotAllowed();
    return verbs[request.verb](request, served);
  }
}

const connectIsNoVerbHere: SubresourceHandler = async () => {
  throw methodNotAllowed();
};

const verbs: Readonly<Record<RequestVerb, SubresourceHandler>> = {
  async get(request, served) {
    return answer(200, served, await getObject(served.registry, request));
  },
  async list(request, served) {
    const { kind, registry } = served;
    const page = await listObjects(registry, request, parseListOptions(kind, request));
    return { type: "list", page: { ...page, kind, items: page.items.map((stored) => inVersion(kind, stored)) } };
  },
  async watch(request, served) {
    const { kind, registry } = served;
    const options = parseListOptions(kind, request);
    const signal =
      options.timeoutSeconds === undefined
        ? request.signal
        : withTimeout(registry, request.signal, options.timeoutSeconds);
    return { type: "watch", kind, events: await watchObjects(registry, { ...request, signal }, options) };
  },
  async create(request, served) {
    const { kind, registry } = served;
    const options = parseWriteOptions(request, "CreateOptions");
    const { object, warnings } = decodeBody(request, kind, options);
    checkPlace(request, kind, object);
    const stored = toStored(kind, object);
    noteManager(served, request, undefined, stored, options);
    return answer(201, served, await registry.create(request, stored, options), warnings);
  },
  async update(request, served) {
    const { kind, registry } = served;
    const options = parseWriteOptions(request, "UpdateOptions");
    const { object, warnings } = decodeBody(request, kind, options);
    checkPlace(request, kind, object);
    const key = registry.keyOf(request.namespace, request.name ?? "");
    const stored = toStored(kind, object);
    const { strategy } = registry.options;
    if (strategy.needsResourceVersion && !object.metadata.resourceVersion)
      throw invalidObject({ group: kind.group, kind: kind.plural }, object.metadata.name ?? "", [
        { type: "Invalid", field: "metadata.resourceVersion", value: 0, detail: "must be specified for an update" },
      ]);
    if (strategy.createOnUpdate && !request.subresource && !(await registry.current(key, request.signal)))
      return answer(201, served, await registry.create(request, stored, options), warnings);
    const result = await registry.update(
      request,
      key,
      (current) => {
        const next = structuredClone(stored);
        noteManager(served, request, current, next, options);
        return next;
      },
      options,
    );
    return answer(200, served, result, warnings);
  },
  async patch(request, served) {
    return request.body?.patchType === "apply" ? serverSideApply(request, served) : plainPatch(request, served);
  },
  async delete(request, served) {
    const { kind, registry } = served;
    const key = registry.keyOf(request.namespace, request.name ?? "");
    const { stored, gone } = await deleteObject(registry, request, key, parseDeleteOptions(request));
    if (!gone || kind.returnsDeleted) return answer(200, served, stored);
    const { name, uid } = stored.object.metadata;
    return {
      type: "plain",
      code: 200,
      object: successStatus({
        name: name ?? "",
        ...(kind.group && { group: kind.group }),
        kind: kind.plural,
        uid: uid ?? "",
      }),
    };
  },
  async deletecollection(request, served) {
    const { kind, registry } = served;
    const page = await listObjects(registry, request, parseListOptions(kind, request));
    const options = parseDeleteOptions(request);
    const items: EncodedObject[] = [];
    for (const { object } of page.items) {
      const { name = "", namespace } = (object as ApiObject).metadata;
      const one: ApiRequest = { ...request, name, ...(namespace && { namespace }) };
      try {
        items.push((await deleteObject(registry, one, registry.keyOf(namespace, name), options)).stored);
      } catch (error) {
        if (!isNotFound(error)) throw error; // someone else was quicker: it is gone, as asked
      }
    }
    return { type: "list", page: { ...page, kind, items: items.map((stored) => inVersion(kind, stored)) } };
  },
  connect: connectIsNoVerbHere,
};

async function plainPatch(request: ApiRequest, served: ServedResource): Promise<ApiResponse> {
  const { kind, registry } = served;
  const options = parseWriteOptions(request, "PatchOptions");
  const { body } = request;
  const type = body?.patchType;
  if (!body || !type || type === "apply") throw badRequest("the body of a patch is missing");
  const patch = decodeErrors(() => body.value());
  let warnings: readonly string[] = [];
  const key = registry.keyOf(request.namespace, request.name ?? "");
  const result = await registry.update(
    request,
    key,
    (current) => {
      const { object, strictErrors } = decodeErrors(() => patched(kind, type, fromStored(kind, current), patch));
      warnings = strictProblems(strictErrors, options, kind);
      const next = toStored(kind, applyDefaults(kind, object));
      // A patch says what changes: it conflicts only if it names a resourceVersion itself.
      if (next.metadata.resourceVersion === current.metadata.resourceVersion) delete next.metadata.resourceVersion;
      noteManager(served, request, current, next, options);
      return next;
    },
    options,
  );
  return answer(200, served, result, warnings);
}

async function serverSideApply(request: ApiRequest, served: ServedResource): Promise<ApiResponse> {
  const { kind, registry } = served;
  const options = parseWriteOptions(request, "PatchOptions");
  const { body, name = "", namespace, subresource } = request;
  const applied = decodeErrors(() => body?.value()) as Readonly<Record<string, unknown>>;
  const key = registry.keyOf(namespace, name);
  const now = registry.options.clock.now();
  const apply = (live: ApiObject | undefined): DraftObject => {
    const { object, managedFields } = applyObject({
      kind,
      live: live && fromStored(kind, live),
      applied,
      manager: options.fieldManager,
      force: options.force,
      now,
      ...(subresource !== undefined && { subresource }),
      ...ownable(kind, subresource),
    });
    const decoded = decodeErrors(() => decodeValue(kind, structuredClone(object)));
    strictProblems(decoded.strictErrors, options, kind);
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

/** Which fields a writer can own: through the main resource all but the status, through `status` nothing else. */
function ownable(kind: AnyKind, subresource: string | undefined) {
  if (!kind.subresources?.status) return {};
  return { resetFields: subresource === "status" ? including("status", "metadata") : excluding("status") };
}

function noteManager(
  served: ServedResource,
  request: ApiRequest,
  live: ApiObject | undefined,
  updated: DraftObject,
  options: WriteOptions,
): void {
  const { kind, registry } = served;
  const { subresource } = request;
  const managedFields = trackUpdate({
    kind: registry.options.kind,
    live,
    updated: updated as ApiObject,
    manager: options.fieldManager,
    now: registry.options.clock.now(),
    ...(subresource !== undefined && { subresource }),
    ...ownable(kind, subresource),
  });
  if (managedFields.length > 0) updated.metadata.managedFields = managedFields as never;
  else delete updated.metadata.managedFields;
}

function decodeBody(
  request: ApiRequest,
  kind: AnyKind,
  options: WriteOptions,
): { object: DraftObject; warnings: readonly string[] } {
  const { body } = request;
  if (!body) throw badRequest("the body of the request is missing");
  const { object, strictErrors } = decodeErrors(() => body.decode(kind), kind);
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
  return { object: object as DraftObject, warnings: strictProblems(strictErrors, options, kind) };
}

/** What strict decoding found is an error, a warning or nothing, as the client wishes. */
function strictProblems(
  strictErrors: readonly string[],
  { fieldValidation }: WriteOptions,
  kind: AnyKind,
): readonly string[] {
  if (strictErrors.length === 0 || fieldValidation === "Ignore") return [];
  if (fieldValidation === "Warn") return strictErrors;
  throw badRequest(
    `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: strict decoding error: ${strictErrors.join(", ")}`,
  );
}

function decodeErrors<T>(work: () => T, kind?: AnyKind): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw badRequest(
      kind
        ? `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${explain(error)}`
        : explain(error),
    );
  }
}

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

function withTimeout(registry: Registry, signal: AbortSignal, seconds: number): AbortSignal {
  const ended = new AbortController();
  const cancel = registry.options.clock.after(seconds * 1000, () =>
    ended.abort(new Error("the time asked for is over")),
  );
  signal.addEventListener("abort", cancel, { once: true });
  return AbortSignal.any([signal, ended.signal]);
}

const toStored = (kind: AnyKind, object: DraftObject): DraftObject =>
  kind.convert ? (structuredClone(kind.convert.toStored(object as never)) as DraftObject) : object;

const fromStored = (kind: AnyKind, object: ApiObject): ApiObject =>
  kind.convert ? (kind.convert.fromStored(object) as ApiObject) : object;

const encoder = new TextEncoder();

function inVersion(kind: AnyKind, stored: EncodedObject): EncodedObject {
  if (!kind.convert) return stored;
  const object = fromStored(kind, stored.object);
  return { object, json: encoder.encode(JSON.stringify(object)) };
}

const answer = (
  code: number,
  { kind }: ServedResource,
  stored: EncodedObject,
  warnings: readonly string[] = [],
): ApiResponse => ({
  type: "object",
  code,
  kind,
  stored: inVersion(kind, stored),
  warnings,
});

const isNotFound = (error: unknown): boolean =>
  error instanceof Error && "reason" in error && error.reason === "NotFound";
