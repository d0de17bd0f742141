// The API as a map: what unit tests of controllers need of a server, without its checks. It names, numbers, defaults and refuses
// conflicts as the real one does.
import type { Clock } from "#base/clock.ts";
import { deepFreeze } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { fieldMatcher, parseFieldSelector } from "#schema/field-selector.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { type ApiObject, type DraftObject, metadataOf } from "#schema/object.ts";
import { applyJsonPatch } from "#schema/patch/json-patch.ts";
import { applyMergePatch } from "#schema/patch/merge-patch.ts";
import { applyStrategicPatch } from "#schema/patch/strategic-merge.ts";
import { labelMatcher, parseSelector } from "#schema/selector.ts";
import { timeOf } from "#schema/time.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import { encodeObject } from "#wire/json.ts";
import { alreadyExists, modifiedMeanwhile, notFound, successStatus } from "#wire/status.ts";
import { Cache } from "../cache.ts";
import { keyOf } from "../object-key.ts";

export class MemoryApi {
  readonly #clock: Clock;
  readonly #caches = new Map<string, Cache<unknown>>();
  #revision = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Only what was decoded as this kind is put in. */
  cache<K extends AnyKind>(kind: K): Cache<Infer<K>> {
    return this.#cacheOf(kind) as Cache<Infer<K>>;
  }

  #objects(kind: AnyKind): Cache<ApiObject> {
    return this.#cacheOf(kind) as Cache<ApiObject>;
  }

  #cacheOf(kind: AnyKind): Cache<unknown> {
    const name = `${kind.group}/${kind.plural}`;
    const present = this.#caches.get(name) ?? new Cache<unknown>();
    this.#caches.set(name, present);
    return present;
  }

  /** Puts an object there, filling in what a server would. */
  put(kind: AnyKind, draft: object): ApiObject {
    const object = complete(kind, structuredClone(draft) as DraftObject);
    const { metadata } = object;
    if (kind.scope === "Namespaced") metadata.namespace ||= "default";
    this.#revision++;
    metadata.name ||= `${metadata.generateName ?? ""}${this.#revision.toString(36).padStart(5, "0")}`;
    metadata.uid ||= `00000000-0000-4000-8000-${String(this.#revision).padStart(12, "0")}`;
    metadata.creationTimestamp ||= timeOf(this.#clock.now());
    metadata.generation ||= 1;
    return this.#store(kind, object);
  }

  readonly request = async (request: ApiRequest): Promise<ApiResponse> => {
    const { verb, expects: kind, name = "", namespace, body } = request;
    request.signal.throwIfAborted();
    if (!kind) throw new Error("the kind of a request is not known");
    const cache = this.#objects(kind);
    const key = keyOf({ namespace, name });
    const resource = { group: kind.group, resource: kind.plural };
    if (verb === "list") return this.#list(kind, request);
    if (verb === "create") {
      const draft = body?.decode(kind).object as DraftObject;
      const given = draft.metadata?.name;
      const { subresource } = request;
      if (subresource !== undefined) return answered(kind, complete(kind, draft));
      if (given && cache.get({ namespace, name: given })) throw alreadyExists(resource, given);
      return answered(
        kind,
        this.put(kind, { ...draft, metadata: { ...draft.metadata, ...(namespace && { namespace }) } }),
        201,
      );
    }
    const current = cache.get(key);
    if (verb === "patch" && body?.patchType === "apply" && !current)
      return answered(kind, this.put(kind, body.value() as object), 201);
    if (!current) throw notFound(resource, name);
    switch (verb) {
      case "get":
        return answered(kind, current);
      case "update":
        return answered(kind, this.#update(kind, request, current, body?.decode(kind).object as DraftObject));
      case "patch":
        return answered(
          kind,
          this.#update(kind, request, current, structuredClone(patched(kind, current, body)) as DraftObject),
        );
      case "delete":
        return this.#delete(kind, current, body);
      default:
        throw new ApiError({ code: 405, reason: "MethodNotAllowed", message: `${verb} is not known here` });
    }
  };

  #list(kind: AnyKind, { namespace, query }: ApiRequest): ApiResponse {
    const labels = labelMatcher(parseSelector(query.get("labelSelector") ?? ""));
    const fields = fieldMatcher(kind, parseFieldSelector(query.get("fieldSelector") ?? ""));
    const items = this.#objects(kind)
      .list(namespace)
      .filter((object) => labels(object.metadata.labels) && fields(object as never))
      .map(encoded);
    return { type: "list", page: { kind, items, resourceVersion: String(this.#revision) } };
  }

  #update(kind: AnyKind, { subresource, name = "" }: ApiRequest, current: ApiObject, draft: DraftObject): ApiObject {
    const asked = draft.metadata.resourceVersion;
    if (asked && asked !== current.metadata.resourceVersion)
      throw modifiedMeanwhile({ group: kind.group, resource: kind.plural }, name);
    const next: Readonly<Record<string, unknown>> =
      subresource === "status" || subresource === "approval"
        ? { ...current, metadata: draft.metadata, status: draft.status }
        : { ...draft, ...(kind.subresources?.status && { status: current.status }) };
    const { uid, creationTimestamp, generation = 1, deletionTimestamp } = current.metadata;
    const changed = JSON.stringify(next.spec) !== JSON.stringify(current.spec);
    const metadata = { ...metadataOf(next), uid, creationTimestamp, generation: generation + (changed ? 1 : 0) };
    const object = complete(kind, structuredClone({ ...next, metadata }) as DraftObject);
    if (deletionTimestamp === undefined) return this.#store(kind, object);
    object.metadata.deletionTimestamp = deletionTimestamp;
    return object.metadata.finalizers?.length ? this.#store(kind, object) : this.#remove(kind, object as ApiObject);
  }

  #delete(kind: AnyKind, current: ApiObject, body: ApiRequest["body"]): ApiResponse {
    const { uid, name = "", finalizers } = current.metadata;
    const sent = body?.value() as { preconditions?: { uid?: string } } | undefined;
    if (sent?.preconditions?.uid !== undefined && sent.preconditions.uid !== uid)
      throw modifiedMeanwhile({ group: kind.group, resource: kind.plural }, name);
    if (finalizers?.length) {
      const metadata = { ...current.metadata, deletionTimestamp: timeOf(this.#clock.now()) };
      return answered(kind, this.#store(kind, structuredClone({ ...current, metadata }) as DraftObject));
    }
    this.#remove(kind, current);
    return { type: "plain", code: 200, object: successStatus({ name, kind: kind.plural, uid: uid ?? "" }) };
  }

  #store(kind: AnyKind, object: DraftObject): ApiObject {
    object.metadata.resourceVersion = String(++this.#revision);
    const stored = deepFreeze<ApiObject>(object);
    const { namespace, name = "" } = stored.metadata;
    this.#objects(kind).set(keyOf({ namespace, name }), stored);
    return stored;
  }

  #remove(kind: AnyKind, object: ApiObject): ApiObject {
    this.#revision++;
    const { namespace, name = "" } = object.metadata;
    this.cache(kind).delete(keyOf({ namespace, name }));
    return object;
  }
}

function complete(kind: AnyKind, draft: DraftObject): DraftObject {
  draft.metadata ??= {};
  return applyDefaults(kind, { ...draft, apiVersion: kind.apiVersion, kind: kind.kind });
}

function patched(kind: AnyKind, current: ApiObject, body: ApiRequest["body"]): unknown {
  const patch = body?.value();
  const bare = { ...current, metadata: { ...current.metadata, resourceVersion: undefined } };
  switch (body?.patchType) {
    case "json":
      return applyJsonPatch(bare, patch);
    case "strategic":
      return applyStrategicPatch(kind.struct, bare, patch);
    default:
      return applyMergePatch(bare, patch);
  }
}

const encoded = (object: ApiObject) => ({ object, json: encodeObject(object, object) });
const answered = (kind: AnyKind, object: object, code = 200): ApiResponse => ({
  type: "object",
  code,
  kind,
  stored: encoded(object as ApiObject),
});
