// From a verb on a resource to the registry that serves it, in the version that was asked for.
import { isNotFound } from "#base/errors.ts";
import { type Soon, soon } from "#base/soon.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import type {
  ApiRequest,
  ApiResponse,
  EncodedObject,
  RequestVerb,
  ResourceAddress,
  WatchEvent,
} from "#wire/api-request.ts";
import { methodNotAllowed, successStatus, unknownPath } from "#wire/status.ts";
import { deleteObject } from "./registry/deletion.ts";
import { type DeletionOptions, parseDeleteOptions, parseListOptions } from "./registry/options.ts";
import { getObject, listObjects, watchObjects } from "./registry/reader.ts";
import type { Registry } from "./registry/registry.ts";
import { checkRoute } from "./routes.ts";
import { isStored, type ServedApis } from "./served/served-apis.ts";
import { answer, type ServedResource, type SubresourceHandler, type VirtualResource } from "./served-resource.ts";
import { allInVersion, eventsInVersion } from "./versions.ts";
import { create, patch, update } from "./writes.ts";

export class Resources {
  readonly #apis: ServedApis;

  constructor(apis: ServedApis) {
    this.#apis = apis;
  }

  /** The kind that is served there; undefined if there is no such resource, or no such subresource of it. */
  kindAt({ group, version, resource, subresource }: ResourceAddress): AnyKind | undefined {
    const kind = this.#apis.find(group, version, resource)?.kind;
    return subresource === undefined || Object.hasOwn(kind?.subresources ?? {}, subresource) ? kind : undefined;
  }

  /** Whether anything at all is served of a group. */
  hasGroup(group: string): boolean {
    return this.#apis.hasGroup(group);
  }

  /** The stored resource at an address. */
  find(group: string, version: string, resource: string): ServedResource | undefined {
    const api = this.#apis.find(group, version, resource);
    return api && isStored(api) ? api : undefined;
  }

  /** Throws ApiError 404 or 405 unless the path is served and takes the verb. */
  check(address: ResourceAddress, verb: RequestVerb | undefined): void {
    const { group, version, resource } = address;
    checkRoute(this.#apis.find(group, version, resource)?.kind, address, verb);
  }

  handle(request: ApiRequest): Soon<ApiResponse> {
    const { group, version, resource, subresource, verb } = request;
    const api = this.#apis.find(group, version, resource);
    checkRoute(api?.kind, request, verb);
    if (!api) throw unknownPath();
    warnOfAge(api.kind, request);
    if (!isStored(api)) return answerByCode(api, request);
    if (subresource === undefined || subresource === "status") return verbs[verb](request, api);
    const handler = api.subresources[subresource];
    if (!handler) throw unknownPath();
    return handler(request, api);
  }
}

function answerByCode({ verbs: handlers }: VirtualResource, request: ApiRequest): Promise<ApiResponse> {
  const handler = handlers[request.verb];
  if (!handler) throw methodNotAllowed();
  return handler(request);
}

function warnOfAge({ deprecated, apiVersion, kind }: AnyKind, { warn }: ApiRequest): void {
  if (!deprecated) return;
  const { since, use } = deprecated;
  warn?.(`${apiVersion} ${kind} is deprecated in ${since}+${use === undefined ? "" : `; use ${use}`}`);
}

const connectIsNoVerbHere: SubresourceHandler = async () => {
  throw methodNotAllowed();
};

const verbs: Readonly<Record<RequestVerb, SubresourceHandler>> = {
  get(request, served) {
    return soon(getObject(served.registry, request), (stored) => answer(200, served, stored));
  },
  async list(request, served) {
    const { kind, registry } = served;
    const page = await listObjects(registry, request, parseListOptions(kind, request));
    return { type: "list", page: { ...page, kind, items: allInVersion(kind, page.items) } };
  },
  async watch(request, served) {
    const { kind, registry } = served;
    const options = parseListOptions(kind, request);
    const signal =
      options.timeoutSeconds === undefined
        ? request.signal
        : withTimeout(registry, request.signal, options.timeoutSeconds);
    try {
      const watched = await watchObjects(registry, { ...request, signal }, options);
      const isWhole = request.namespace === undefined && !options.wants && !kind.convert;
      const events = request.holds && isWhole ? holding(registry, watched) : watched;
      return { type: "watch", kind, events: eventsInVersion(kind, events) };
    } catch (error) {
      if (!signal.aborted || request.signal.aborted) throw error;
      return { type: "watch", kind, events: noEvents() }; // its time was over before it could begin
    }
  },
  create,
  update,
  patch,
  async delete(request, served) {
    const { kind, registry } = served;
    const key = registry.keyOf(request.namespace, request.name ?? "");
    const { stored, gone } = await deleteObject(registry, request, key, deleteOptions(request, served));
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
    const options = deleteOptions(request, served);
    const items: EncodedObject[] = [];
    for (const { object } of page.items) {
      const { name = "", namespace } = (object as ApiObject).metadata;
      const one = { ...request, name, ...(namespace && { namespace }) };
      try {
        items.push((await deleteObject(registry, one, registry.keyOf(namespace, name), options)).stored);
      } catch (error) {
        if (!isNotFound(error)) throw error; // someone else was quicker: it is gone, as asked
      }
    }
    return { type: "list", page: { ...page, kind, items: allInVersion(kind, items) } };
  },
  connect: connectIsNoVerbHere,
};

/** For as long as they are followed, who follows them holds every object. */
async function* holding<T>({ options: { cache } }: Registry, events: AsyncIterable<T>): AsyncGenerator<T> {
  const release = cache.hold();
  try {
    yield* events;
  } finally {
    release();
  }
}

async function* noEvents(): AsyncGenerator<readonly WatchEvent[]> {
  yield [];
}

function withTimeout(registry: Registry, signal: AbortSignal, seconds: number): AbortSignal {
  const ended = new AbortController();
  const cancel = registry.options.clock.after(seconds * 1000, () =>
    ended.abort(new Error("the time asked for is over")),
  );
  signal.addEventListener("abort", cancel, { once: true });
  return AbortSignal.any([signal, ended.signal]);
}

/** Tells who does not say what becomes of dependents what will. */
function deleteOptions(request: ApiRequest, { registry }: ServedResource): DeletionOptions {
  const options = parseDeleteOptions(request);
  const { deletionWarning } = registry.options.strategy;
  if (deletionWarning !== undefined && options.propagation === undefined) request.warn?.(deletionWarning);
  return options;
}
