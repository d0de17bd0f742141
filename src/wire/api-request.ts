// What a client asks of the API and what it gets back, free of HTTP. The HTTPS front turns bytes into an ApiRequest and an
// ApiResponse into bytes; parts of the same process call the same handler with objects. Both go the same way through
// authentication, authorization, admission and validation: there is no hidden superuser.
import type { DecodeResult } from "#schema/decode.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import type { AnyStruct } from "#schema/struct.ts";

export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What may be done to a resource; `connect` covers the streaming subresources, whatever the HTTP method. */
export type RequestVerb =
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection"
  | "connect";

/** Which resource is meant. `namespace` and `name` are absent where the path has none. */
export interface ResourceAddress {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

export type PatchType = "json" | "merge" | "strategic" | "apply";

/** The body of a request, decoded once it is known what it should be. */
export interface RequestBody {
  /** An object nobody else holds. Throws DecodeError. */
  decode(subject: AnyKind | AnyStruct): DecodeResult;
  /** Any JSON, for patches of objects of a kind. Throws DecodeError. */
  value(kind?: AnyKind): unknown;
  /** As it was sent, if it was. */
  readonly bytes?: Uint8Array;
  /** Whether it is so large that each stage of the request should take a turn of the event loop of its own. */
  readonly isLarge?: boolean;
  /** Set when the body is a patch. */
  readonly patchType?: PatchType;
}

/** The stages of a request, in the order in which they are passed. */
export const stages = ["identify", "authorize", "read", "admit", "validate", "store"] as const;
export type RequestStage = (typeof stages)[number];

/** Where the time of a request goes. */
export interface Trace {
  readonly id: string;
  /** The stage that ends now. */
  mark(stage: RequestStage): void;
  /** Milliseconds spent in a stage so far; undefined of one that was not passed. */
  spent(stage: RequestStage): number | undefined;
}

/** Takes what the audit log should tell of a request besides what it is. */
export interface AuditNotes extends AuditAnnotations {
  /** The object that was sent, decoded and defaulted, before anybody has changed it. */
  sentObject(object: object): void;
  sentPatch(patch: unknown): void;
}

export interface AuditAnnotations {
  /** The first value of a key stays. */
  annotate(key: string, value: string): void;
}

export interface ApiRequest extends ResourceAddress {
  readonly user: User;
  readonly verb: RequestVerb;
  readonly query: URLSearchParams;
  readonly body?: RequestBody | undefined;
  /** Names the writer in managedFields where the query does not. */
  readonly userAgent: string;
  /** What the writer acted on: `pods/default/web@17`. */
  readonly because?: string | undefined;
  /** What the writer did before: see steps.ts. */
  readonly steps?: string | undefined;
  /** Follows the request through its stages. */
  readonly trace?: Trace | undefined;
  /** Undefined where nobody records the request. */
  readonly audit?: AuditNotes | undefined;
  /** The kind the client expects in the answer, for transports that must decode it. The server does not look at it. */
  readonly expects?: AnyKind;
  /** Of a watch: the client keeps each object in memory. If the client is in this process, the server need not keep the object as well. */
  readonly holds?: boolean | undefined;
  /** Of a watch: called when what there was when it began has been taken. */
  readonly began?: (() => void) | undefined;
  /** Of a watch: how long it lasts if the query does not say; for as long as it is wanted by default. */
  readonly lastsSeconds?: number | undefined;
  readonly signal: AbortSignal;
  /** Why nothing is to be written for it any more; undefined as long as somebody waits for it. */
  readonly expired?: (() => Error | undefined) | undefined;
  /** Adds a warning to the response. */
  readonly warn?: (text: string) => void;
}

/**
 * A request with some of it changed. Spreading alone would lose the signal of a request that came over HTTP, which is made when it is first
 * asked for; test/layers.test.ts holds that nobody does.
 */
export const requestWith = (request: ApiRequest, changes: Partial<ApiRequest>): ApiRequest => ({
  ...request,
  signal: request.signal,
  ...changes,
});

/**
 * An object with its JSON, made once and sent as it is to whoever wants that version in JSON: it begins with what the object is
 * (`namesHead`) and ends with a newline.
 */
export interface EncodedObject {
  readonly object: ApiObject;
  readonly json: Uint8Array;
}

export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

export interface WatchEvent {
  readonly type: WatchEventType;
  readonly object: object;
  /** What a modified object was before. */
  readonly previous?: EncodedObject | undefined;
  /** The whole event as a line of JSON, shared by all watchers of the stored version. */
  json(): Uint8Array;
}

export interface ListPage {
  readonly kind: AnyKind;
  /** Held by the server: read it before the next turn of the event loop changes anything, or keep the array. */
  readonly items: readonly EncodedObject[];
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export type ApiResponse = { readonly warnings?: readonly string[] } & (
  | { readonly type: "object"; readonly code: number; readonly kind: AnyKind; readonly stored: EncodedObject }
  /** Not stored, or not as it is: encoded for this answer alone. */
  | { readonly type: "plain"; readonly code: number; readonly object: object; readonly kind?: AnyKind }
  | { readonly type: "list"; readonly page: ListPage }
  | { readonly type: "watch"; readonly kind: AnyKind; readonly events: AsyncIterable<readonly WatchEvent[]> }
);
