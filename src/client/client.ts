// The API as functions of kinds. All requests go through one transport: the API server's own `request` in the same process,
// or HTTPS. What comes back is shared and read-only; whoever wants to change something makes a new object of it.

import type { DeleteOptions } from "#api/meta/options.ts";
import { ApiError, isExpired, isNotFound } from "#base/errors.ts";
import type { Draft, Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { type ApiObject, metadataOf } from "#schema/object.ts";
import type { ApiRequest, ApiResponse, PatchType, RequestVerb, User, WatchEvent } from "#wire/api-request.ts";
import { internalError } from "#wire/status.ts";
import { objectBody, statusBody } from "./object-body.ts";
import type { ObjectKey } from "./object-key.ts";

/** Rejects with ApiError when the server refuses, and with ConnectionLost when the outcome of the request is unknown. */
export type Transport = (request: ApiRequest) => Promise<ApiResponse>;

export interface ClientOptions {
  readonly transport: Transport;
  /** The user who makes the requests. Over HTTPS the server ignores it and goes by the credentials. */
  readonly user: User;
  /** Names the writer in managedFields: up to the slash. */
  readonly userAgent: string;
  readonly signal: AbortSignal;
  /** Objects per page of a list; all at once by default. */
  readonly pageSize?: number;
}

/** What is different for a client that works for one reconcile. */
export interface ClientScope {
  readonly signal?: AbortSignal;
  /** Sent with each write: what it was caused by. */
  readonly because?: string;
  /** Sent with each write: what was done before it. */
  readonly steps?: string;
  /** Called with each write that was done, before its promise resolves. */
  readonly onWrite?: (write: ClientWrite) => void;
}

export interface ClientWrite {
  readonly kind: AnyKind;
  readonly verb: RequestVerb;
  /** As the server answered. A deletion may be answered with no object: then it has no resourceVersion. */
  readonly object: ApiObject;
}

/** The subresource something is sent to. With `of`, what is sent is of another kind than what it is sent to: a Binding to a Pod. */
export type RequestTarget =
  | string
  | {
      readonly of: AnyKind;
      /** Without one, it is an object of that kind which is answered as another. */
      readonly subresource?: string;
      readonly query?: Readonly<Record<string, string>>;
    };

export interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}
export interface ListOptions extends Selection {
  readonly resourceVersion?: string;
}
export interface WatchOptions extends ListOptions {
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds?: number;
  /** Whether the caller keeps every object of the watch in memory until the watch ends. */
  readonly holds?: boolean;
  readonly signal?: AbortSignal;
}
export interface ClientDeleteOptions {
  readonly graceSeconds?: number;
  readonly propagation?: "Orphan" | "Background" | "Foreground";
  /** Refused with Conflict if the object is another one, or was changed. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}
export interface PatchOptions {
  readonly subresource?: string;
  readonly fieldManager?: string;
  /** Of an apply: take fields from other managers. */
  readonly force?: boolean;
}

export interface ClientList<O> {
  readonly items: readonly O[];
  readonly resourceVersion: string;
}
export interface ObjectEvent<O> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  /** Of a bookmark only the metadata means anything. */
  readonly object: O;
}

export class Client {
  readonly #options: ClientOptions & ClientScope;

  constructor(options: ClientOptions & ClientScope) {
    this.#options = options;
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  /** The same client for one piece of work. */
  bound(binding: ClientScope): Client {
    return new Client({ ...this.#options, ...binding });
  }

  async get<K extends AnyKind>(kind: K, { namespace, name }: ObjectKey, target?: RequestTarget): Promise<Infer<K>> {
    return objectIn(await this.#send("get", kind, { namespace, name, target })) as Infer<K>;
  }

  /** The object, or undefined if there is none. */
  async find<K extends AnyKind>(kind: K, place: ObjectKey): Promise<Infer<K> | undefined> {
    try {
      return await this.get(kind, place);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** All objects of one moment, page by page where the client has a page size. */
  async list<K extends AnyKind>(kind: K, options: ListOptions = {}): Promise<ClientList<Infer<K>>> {
    try {
      return await this.#pages(kind, options, this.#options.pageSize);
    } catch (error) {
      if (!isExpired(error) || this.#options.pageSize === undefined) throw error;
      return this.#pages(kind, options, undefined); // the moment of the first page was forgotten before the last
    }
  }

  async #pages<K extends AnyKind>(kind: K, options: ListOptions, limit?: number): Promise<ClientList<Infer<K>>> {
    const items: Infer<K>[] = [];
    for (let next: string | undefined; ; ) {
      const query = next === undefined ? selectionQuery(options) : selectionQuery({ ...options, resourceVersion: "" });
      if (limit !== undefined) query.set("limit", String(limit));
      if (next !== undefined) query.set("continue", next);
      const response = await this.#send("list", kind, { namespace: options.namespace, query });
      if (response.type !== "list") throw unexpected("a list", response);
      const { page } = response;
      for (const { object } of page.items) items.push(object as Infer<K>);
      next = page.continue || undefined;
      if (next === undefined) return { items, resourceVersion: page.resourceVersion };
    }
  }

  /** The events after a resourceVersion, in batches. Ends when the server ends it; throws ApiError for an ERROR event. */
  async watch<K extends AnyKind>(
    kind: K,
    options: WatchOptions = {},
  ): Promise<AsyncIterable<readonly ObjectEvent<Infer<K>>[]>> {
    const query = selectionQuery(options);
    query.set("watch", "true");
    query.set("allowWatchBookmarks", "true");
    if (options.timeoutSeconds !== undefined) query.set("timeoutSeconds", String(options.timeoutSeconds));
    if (options.sendInitialEvents) {
      query.set("sendInitialEvents", "true");
      query.set("resourceVersionMatch", "NotOlderThan");
    }
    const { namespace, holds, signal } = options;
    const response = await this.#send("watch", kind, { namespace, query, holds, signal });
    if (response.type !== "watch") throw unexpected("a watch", response);
    return withoutErrors(response.events) as AsyncIterable<readonly ObjectEvent<Infer<K>>[]>;
  }

  /** Creates the object, or what a target makes of it: `create(Binding, binding, { of: Pod, subresource: "binding" })`. */
  async create<K extends AnyKind>(kind: K, object: Draft<Infer<K>>, target?: RequestTarget): Promise<Infer<K>> {
    const { namespace, name } = metadataOf(object);
    const place = target === undefined ? { namespace } : { namespace, name, target };
    return this.#write("create", kind, { ...place, body: objectBody(object) });
  }

  async update<K extends AnyKind>(kind: K, object: Infer<K>, target?: RequestTarget): Promise<Infer<K>> {
    if (kind.metadataOnly) throw new Error(`${kind.plural} can be patched, not replaced: only their metadata is known`);
    const { namespace, name } = metadataOf(object);
    const body = target === "status" ? statusBody(kind, object as object) : objectBody(object);
    return this.#write("update", kind, { namespace, name, target, body });
  }

  async patch<K extends AnyKind>(
    kind: K,
    { namespace, name }: ObjectKey,
    type: PatchType,
    patch: unknown,
    options: PatchOptions = {},
  ): Promise<Infer<K>> {
    const query = new URLSearchParams();
    if (options.fieldManager !== undefined) query.set("fieldManager", options.fieldManager);
    if (options.force !== undefined) query.set("force", String(options.force));
    const body = objectBody(patch, type);
    return this.#write("patch", kind, { namespace, name, query, target: options.subresource, body });
  }

  /** Resolves with the object as the server answers it (it may stay for a grace period, or for finalizers), or undefined if it is gone. */
  async delete<K extends AnyKind>(
    kind: K,
    { namespace, name }: ObjectKey,
    options: ClientDeleteOptions = {},
  ): Promise<Infer<K> | undefined> {
    const body = deletionBody(options);
    const response = await this.#send("delete", kind, { namespace, name, ...(body && { body }) });
    const object = objectIn(response);
    const isGone = object.kind === "Status" && object.apiVersion === "v1";
    const was: ApiObject = isGone
      ? { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { namespace, name, uid: object.details?.uid } }
      : object;
    this.#options.onWrite?.({ kind, verb: "delete", object: was });
    return isGone ? undefined : (object as Infer<K>);
  }

  async deleteCollection(kind: AnyKind, selection: Selection = {}, options: ClientDeleteOptions = {}): Promise<void> {
    const body = deletionBody(options);
    const query = selectionQuery(selection);
    await this.#send("deletecollection", kind, { namespace: selection.namespace, query, ...(body && { body }) });
  }

  async #write<K extends AnyKind>(verb: RequestVerb, kind: K, call: Call): Promise<Infer<K>> {
    const object = objectIn(await this.#send(verb, kind, call));
    const { target } = call;
    const of = typeof target === "object" ? target.of : kind;
    // The answer of a subresource is often not a stored object, so no watch will ever show it: there is nothing to wait for.
    if (of === kind) this.#options.onWrite?.({ kind, verb, object });
    return object as Infer<K>;
  }

  #send(verb: RequestVerb, kind: AnyKind, call: Call): Promise<ApiResponse> {
    const { transport, user, userAgent, because, steps, signal } = this.#options;
    const { namespace, name, target, body } = call;
    const {
      of,
      subresource,
      query: asked,
    } = typeof target === "object" ? target : { of: kind, subresource: target, query: undefined };
    const query = call.query ?? new URLSearchParams(asked);
    const isRead = verb === "get" || verb === "list" || verb === "watch";
    return transport({
      user,
      userAgent,
      verb,
      group: of.group,
      version: of.version,
      resource: of.plural,
      ...(of.scope === "Namespaced" && namespace && { namespace }),
      ...(name !== undefined && { name }),
      ...(subresource !== undefined && { subresource }),
      query,
      ...(body && { body }),
      ...(because !== undefined && !isRead && { because }),
      ...(steps !== undefined && !isRead && { steps }),
      expects: kind,
      ...(call.holds && { holds: true }),
      signal: call.signal ?? signal,
    });
  }
}

interface Call {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly target?: RequestTarget | undefined;
  readonly query?: URLSearchParams;
  readonly body?: ApiRequest["body"];
  readonly holds?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The error that a Status describes. */
export function errorOf(status: Readonly<Record<string, unknown>>): ApiError {
  const { code, reason, message, details } = status;
  return new ApiError({
    code: typeof code === "number" ? code : 500,
    reason: typeof reason === "string" ? reason : "",
    message: typeof message === "string" ? message : "the server gave no reason",
    ...(typeof details === "object" && details !== null && { details }),
  });
}

function objectIn(response: ApiResponse): ApiObject {
  if (response.type === "object") return response.stored.object;
  if (response.type === "plain") return response.object as ApiObject;
  throw unexpected("an object", response);
}

const unexpected = (wanted: string, { type }: ApiResponse): ApiError =>
  internalError(`expected ${wanted}, the server answered with ${type}`);

async function* withoutErrors(events: AsyncIterable<readonly WatchEvent[]>): AsyncGenerator<readonly WatchEvent[]> {
  for await (const batch of events) {
    const failed = batch.findIndex(({ type }) => type === "ERROR");
    if (failed < 0) {
      yield batch;
      continue;
    }
    if (failed > 0) yield batch.slice(0, failed);
    throw errorOf(batch[failed]?.object as Readonly<Record<string, unknown>>);
  }
}

function selectionQuery({ labelSelector, fieldSelector, resourceVersion }: ListOptions): URLSearchParams {
  const query = new URLSearchParams();
  if (labelSelector) query.set("labelSelector", labelSelector);
  if (fieldSelector) query.set("fieldSelector", fieldSelector);
  if (resourceVersion) query.set("resourceVersion", resourceVersion);
  return query;
}

function deletionBody({ graceSeconds, propagation, preconditions }: ClientDeleteOptions): ApiRequest["body"] {
  if (graceSeconds === undefined && propagation === undefined && preconditions === undefined) return undefined;
  const options: Draft<DeleteOptions> = {
    kind: "DeleteOptions",
    apiVersion: "v1",
    gracePeriodSeconds: graceSeconds,
    propagationPolicy: propagation,
    preconditions,
  };
  return objectBody(options);
}
