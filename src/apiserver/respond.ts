// The last stage: an answer in the form the client wants. What is stored goes out as the bytes that were made when it was
// written; only tables, metadata alone and foreign encodings are made for one answer.
import { PartialObjectMetadata } from "#api/meta/partial-object-metadata.ts";
import { Status } from "#api/meta/status.ts";
import { breathe, inTurns } from "#base/breathe.ts";
import type { Clock } from "#base/clock.ts";
import { own } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import type { Soon } from "#base/soon.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import {
  type IncludeObject,
  type MetaVersion,
  parseIncludeObject,
  partialObjectMetadata,
  tableOfObject,
} from "#schema/table.ts";
import type { ApiResponse, EncodedObject, ListPage, RequestVerb, WatchEvent } from "#wire/api-request.ts";
import { type Codec, named, type TypedSubject } from "#wire/codec.ts";
import { type HttpRequest, type HttpResponse, nosniff, type Parts, uncached } from "#wire/http.ts";
import { joined, jsonCodec, namesHead } from "#wire/json.ts";
import { type AcceptedType, isProduced, negotiate, offers, type RequestedConversion } from "#wire/negotiate.ts";
import { protobufCodec } from "#wire/protobuf.ts";
import { methodNotAllowed, noSuchForm, notAcceptable, nothingProduced, statusOf } from "#wire/status.ts";
import type { WebSocketMessage } from "#wire/streams/websocket.ts";
import { warningHeaders } from "#wire/warning.ts";
import { yamlCodec } from "#wire/yaml.ts";
import { internalType } from "./foreign-kind.ts";
import { listShape, objectListMetadata, tableNamed } from "./list-shape.ts";

/** What the client wants to get, chosen from its Accept header before anything is done. */
export interface ResponseForm {
  readonly codec: Codec;
  readonly as: "object" | "table" | "metadata";
  /** Whether `as` is meant for lists; undefined where that makes no difference. */
  readonly isOfLists?: boolean | undefined;
  readonly metaVersion: MetaVersion;
  readonly includeObject: IncludeObject;
  readonly pretty: boolean;
}

const codecs: ReadonlyMap<string, Codec> = new Map(
  [jsonCodec, yamlCodec, protobufCodec].map((codec) => [codec.mediaType, codec]),
);
const shapes: Readonly<Record<string, ResponseForm["as"]>> = {
  Table: "table",
  PartialObjectMetadata: "metadata",
  PartialObjectMetadataList: "metadata",
};

/** Throws ApiError 406 if there is nothing the client would take. */
export function wantedBy(request: HttpRequest, verb: RequestVerb, kind?: AnyKind): ResponseForm {
  const { headers, query } = request;
  const { mediaType, convert, isPretty } = accepted(headers.accept ?? "", verb, kind);
  const as = own(shapes, convert?.kind ?? "") ?? "object";
  return {
    codec: codecs.get(mediaType) ?? jsonCodec,
    as,
    isOfLists: as === "metadata" ? convert?.kind === "PartialObjectMetadataList" : undefined,
    metaVersion: convert?.version === "v1beta1" ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1",
    includeObject: parseIncludeObject(query.get("includeObject") ?? undefined),
    pretty: isPretty || isForPerson(request),
  };
}

/** Whether JSON is to be indented: as asked, or as the client's name suggests. */
export function isForPerson({ headers, query }: HttpRequest): boolean {
  const asked = query.get("pretty");
  return asked ? /^(1|t|true)$/i.test(asked) : /^(curl|Wget|Mozilla\/5\.0)/.test(headers["user-agent"] ?? "");
}

/** For refusals of requests that never got so far as to say what they want: if there is nothing they would take, in plain sight. */
export function wantedOfRefusal(request: HttpRequest): ResponseForm {
  try {
    return { ...wantedBy(request, "get"), as: "object" };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return indentedJson;
  }
}

/** A cluster's clients send the same few headers over and over. */
const recent = { list: new Map<string, AcceptedType>(), watch: new Map<string, AcceptedType>() };
const mostRecent = 100;

function accepted(accept: string, verb: RequestVerb, kind: AnyKind | undefined): AcceptedType {
  const isWatch = verb === "watch";
  const known = recent[isWatch ? "watch" : "list"];
  const present = known.get(accept);
  if (present) return present;
  // Upstream's handler of custom resources negotiates later than its routes do.
  if (!kind?.model.publication.isUnstructured && !isProduced(accept, offers))
    throw nothingProduced(isWatch || verb === "list" ? listTypes : objectTypes);
  const result = negotiate(accept, { offers, isWatch, allows: isAllowed });
  if ("acceptable" in result) throw notAcceptable(result.acceptable);
  if (known.size >= mostRecent) known.clear();
  if (accept.length <= 500) known.set(accept, result.accepted);
  return result.accepted;
}

const objectTypes = offers.map(({ mediaType }) => mediaType);
const listTypes = [
  ...objectTypes,
  ...offers.filter(({ streams }) => streams).map(({ mediaType }) => `${mediaType};stream=watch`),
];

const isAllowed = ({ kind, group, version }: RequestedConversion, mediaType: string): boolean =>
  group === "meta.k8s.io" &&
  (version === "v1" || version === "v1beta1") &&
  own(shapes, kind) !== undefined &&
  (kind !== "Table" || mediaType !== protobufCodec.mediaType);

const indentedJson: ResponseForm = {
  codec: jsonCodec,
  as: "object",
  metaVersion: "meta.k8s.io/v1",
  includeObject: "Metadata",
  pretty: true,
};

const statusNamed: TypedSubject = { apiVersion: "v1", kind: "Status", struct: Status };

type ListResponse = Extract<ApiResponse, { readonly type: "list" }>;
type WatchResponse = Extract<ApiResponse, { readonly type: "watch" }>;

/** Lists may be long, and all at once would take too long. */
export async function respondList(response: ListResponse, wanted: ResponseForm, clock: Clock): Promise<HttpResponse> {
  const { page } = response;
  const headers = headersOf(response, wanted);
  if (!isStoredJson(wanted)) return { code: 200, headers, body: await encodedList(page, wanted, clock.now()) };
  await measure(page);
  return { code: 200, headers, body: listBytes(page) };
}

export function respond(
  response: Exclude<ApiResponse, ListResponse>,
  wanted: ResponseForm,
  clock: Clock,
): Soon<HttpResponse> {
  const headers = headersOf(response, wanted);
  if (response.type === "object" && isStoredJson(wanted)) {
    const { code, stored } = response;
    return { code, headers, body: stored.json };
  }
  const now = clock.now();
  switch (response.type) {
    case "object": {
      const { kind, stored, code } = response;
      return encodedInTurns({ code, headers }, wanted, shaped(kind, stored.object, wanted, now));
    }
    case "plain": {
      const { kind, object, code } = response;
      const one = kind ? shaped(kind, object as ApiObject, wanted, now) : { named: statusNamed, object };
      return encodedInTurns({ code, headers }, wanted, one);
    }
    case "watch":
      return { code: 200, headers, body: watchBytes(response, wanted, now) };
  }
}

function headersOf({ type, warnings = [] }: ApiResponse, { codec }: ResponseForm): Headers {
  const headers = usualHeaders.get(codec)?.[type === "watch" ? "watch" : "whole"] ?? uncached;
  return warnings.length === 0 ? headers : { ...headers, warning: warningHeaders(warnings) };
}

export const respondError = (
  error: ApiError,
  wanted: ResponseForm,
  warnings: readonly string[] = [],
): HttpResponse => ({
  code: error.code,
  headers: {
    "content-type": wanted.codec.mediaType,
    ...uncached,
    ...(error.details?.retryAfterSeconds !== undefined && { "retry-after": String(error.details.retryAfterSeconds) }),
    ...(warnings.length > 0 && { warning: warningHeaders(warnings) }),
  },
  body: encode(wanted, { named: statusNamed, object: statusOf(error) }),
});

/** The answer to a method that HTTP does not know, for fronts that cannot show us the request. */
export const unknownMethod = () => ({
  code: 405,
  headers: { "content-type": jsonCodec.mediaType, ...uncached },
  body: `${JSON.stringify({ kind: "Status", apiVersion: "v1", ...statusOf(methodNotAllowed()) })}\n`,
});

export const withHeaders = (response: HttpResponse, headers: Readonly<Record<string, string>>): HttpResponse => ({
  ...response,
  headers: { ...response.headers, ...headers },
});

type Headers = NonNullable<HttpResponse["headers"]>;

/** Made once: most answers have no others. In JSON a watch is announced without the parameter that asks for it; clients choose their decoder by that. */
const usualHeaders: ReadonlyMap<Codec, { readonly whole: Headers; readonly watch: Headers }> = new Map(
  [...codecs.values()].map((codec) => {
    const watchType = codec === jsonCodec ? codec.mediaType : (codec.watch?.mediaType ?? codec.mediaType);
    return [
      codec,
      {
        whole: { "content-type": codec.mediaType, ...uncached },
        watch: { "content-type": watchType, ...uncached },
      },
    ];
  }),
);

/** What is stored is what is wanted: nothing has to be encoded. */
const isStoredJson = ({ codec, as, pretty }: ResponseForm): boolean =>
  codec === jsonCodec && as === "object" && !pretty;

interface ResponseShape {
  readonly named: TypedSubject;
  readonly object: object;
}

function encode(wanted: ResponseForm, { named, object }: ResponseShape): Uint8Array {
  const { codec, pretty } = supporting(wanted, named);
  return codec.encode(named, object, { isPretty: pretty });
}

/** At once, unless the format takes long. */
function encodedInTurns(
  head: Pick<HttpResponse, "code" | "headers">,
  wanted: ResponseForm,
  shaped: ResponseShape,
): Soon<HttpResponse> {
  const { codec } = supporting(wanted, shaped.named);
  const steps = codec.encodeSteps?.(shaped.named, shaped.object);
  return steps ? inTurns(steps).then((body) => ({ ...head, body })) : { ...head, body: encode(wanted, shaped) };
}

/** Throws ApiError 406 if the format has no form of it. */
function supporting(wanted: ResponseForm, { struct }: TypedSubject): ResponseForm {
  if (!wanted.codec.supports(struct)) throw notAcceptable(objectTypes);
  return wanted;
}

/** Throws ApiError if what is asked for is a form of lists: one object has none. */
export function refuseFormOfLists(kind: AnyKind, { isOfLists }: ResponseForm): void {
  if (!isOfLists) return;
  if (kind.model.publication.isUnstructured)
    throw new ApiError({ code: 500, reason: "", message: "content is not a list" });
  throw noSuchForm(
    `you requested PartialObjectMetadataList, but the requested object is not a list (*${internalType(kind)})`,
  );
}

/** One object in the shape asked for. */
function shaped(kind: AnyKind, object: ApiObject, wanted: ResponseForm, now: number): ResponseShape {
  const { as, metaVersion, includeObject } = wanted;
  refuseFormOfLists(kind, wanted);
  switch (as) {
    case "object":
      return { named: named(kind), object };
    case "metadata":
      return {
        named: { apiVersion: metaVersion, kind: "PartialObjectMetadata", struct: PartialObjectMetadata },
        object: partialObjectMetadata(object, metaVersion),
      };
    case "table":
      return {
        named: tableNamed(metaVersion),
        object: tableOfObject(kind, object, { apiVersion: metaVersion, includeObject, now }),
      };
  }
}

/** A list in another form than the stored one, made item by item: other requests get their turn in between. */
async function encodedList(page: ListPage, wanted: ResponseForm, now: number): Promise<Parts | Uint8Array> {
  const { named, empty, field, item } = listShape(page, wanted, now);
  if (page.items.length === 0) return encode(wanted, { named, object: empty });
  const { codec, pretty } = supporting(wanted, named);
  const made = codec.listEncoder(named, empty, field, { isPretty: pretty });
  const parts: Uint8Array[] = [];
  const pause = breathe();
  let size = 0;
  for (const [i, { object }] of page.items.entries()) {
    const steps = made.itemSteps?.(item(object), i === 0);
    const part = steps ? await inTurns(steps) : made.item(item(object), i === 0);
    parts.push(part);
    size += part.length;
    if (pause.due()) await pause.now();
  }
  const { head, tail } = made.around(size);
  const all = [head, ...parts, tail];
  size += head.length + tail.length;
  return size <= mostInOnePiece ? joined(all, size) : { size, [Symbol.iterator]: () => all.values() };
}

/** What is sent in one piece announces its length, which tells clients more. */
const mostInOnePiece = 64 * 1024;

const encoder = new TextEncoder();
const end = encoder.encode("]}\n");
const opening = encoder.encode("{");
const next = encoder.encode(",{");

/** A head, the items' own bytes and a tail, put together while they are sent. Of each item, what it is and its newline are left out. */
function listBytes(page: ListPage): Parts {
  const { kind, items } = page;
  const metadata = JSON.stringify(objectListMetadata(page));
  const { isUnstructured } = kind.model.publication;
  const named = isUnstructured ? opening.length : namesHead(kind).length;
  const head = encoder.encode(
    `{"kind":"${kind.listKind}","apiVersion":"${kind.apiVersion}","metadata":${metadata},"items":[`,
  );
  const changed = next.length - named - newlineLength;
  const size = head.length + sizeOf(items) + items.length * changed - Math.min(1, items.length) + end.length;
  return { size, [Symbol.iterator]: () => itemsBetween(head, items, named) };
}

/** Of all items together. Clients that list at once share the items, and to look at 10,000 of them takes a millisecond. */
const sizes = new WeakMap<readonly EncodedObject[], number>();
const sizeOf = (items: readonly EncodedObject[]): number =>
  sizes.get(items) ?? items.reduce((sum, { json }) => sum + json.length, 0);

/** To be called before `listBytes`: the bytes of a list may have to be made, and all at once that would take too long. */
async function measure({ items }: ListPage): Promise<void> {
  if (sizes.has(items)) return;
  const pause = breathe();
  let size = 0;
  for (const [i, { json }] of items.entries()) {
    size += json.length;
    if (i % 32 === 0 && pause.due()) await pause.now();
  }
  sizes.set(items, size);
}

const newlineLength = 1;

function* itemsBetween(head: Uint8Array, items: readonly EncodedObject[], named: number): Generator<Uint8Array> {
  yield head;
  for (let i = 0; i < items.length; i++) {
    yield i > 0 ? next : opening;
    const { json } = items[i] as EncodedObject;
    yield json.subarray(named, json.length - newlineLength);
  }
  yield end;
}

const made = new WeakMap<readonly WatchEvent[], Uint8Array>();

/** A batch as lines of JSON, made once for all watchers that share it. */
function lines(batch: readonly WatchEvent[]): Uint8Array {
  const known = made.get(batch);
  if (known) return known;
  const parts = batch.map((event) => event.json());
  const bytes = joined(
    parts,
    parts.reduce((sum, { length }) => sum + length, 0),
  );
  made.set(batch, bytes);
  return bytes;
}

async function* watchBytes(
  { kind, events }: WatchResponse,
  wanted: ResponseForm,
  now: number,
): AsyncGenerator<Uint8Array> {
  const encoded = eventEncoder(kind, wanted, now);
  const isShared = wanted.as === "object" && wanted.codec === jsonCodec;
  for await (const batch of events)
    if (isShared) yield lines(batch);
    else for (const event of batch) yield encoded(event);
}

/** Events one by one, for a transport that says itself where each ends. */
export async function* watchMessages(
  { kind, events }: WatchResponse,
  wanted: ResponseForm,
  clock: Clock,
): AsyncGenerator<WebSocketMessage> {
  const encoded = eventEncoder(kind, wanted, clock.now());
  const isText = wanted.codec === jsonCodec;
  for await (const batch of events)
    for (const event of batch) {
      const bytes = encoded(event);
      yield isText ? { type: "text", data: bytes } : { type: "binary", data: bytes.subarray(lengthBytes) };
    }
}

/** In protobuf, the length of an event stands before it. */
const lengthBytes = 4;

/** For one watch: the columns of a table are told with its first event only. */
function eventEncoder(kind: AnyKind, wanted: ResponseForm, now: number): (event: WatchEvent) => Uint8Array {
  const { codec, as, metaVersion, includeObject } = wanted;
  const frames = codec.watch;
  if (!frames) throw new Error(`${codec.mediaType} has no way to send events`);
  let headers = true;
  return (event) => {
    const { type, object } = event;
    if (as === "object" && codec === jsonCodec) return event.json();
    if (type === "ERROR") return frames.encode(statusNamed, { type, object });
    if (as === "object") return frames.encode(named(kind), event);
    if (as === "metadata") {
      const one = shaped(kind, object as ApiObject, wanted, now);
      return frames.encode(one.named, { type, object: one.object });
    }
    const options = { apiVersion: metaVersion, includeObject, headers, bookmark: type === "BOOKMARK", now };
    headers = false;
    return frames.encode(tableNamed(metaVersion), { type, object: tableOfObject(kind, object as ApiObject, options) });
  };
}

/** The answer where nothing is served at all. */
export const pageNotFound: HttpResponse = {
  code: 404,
  headers: { "content-type": "text/plain; charset=utf-8", ...nosniff, ...uncached },
  body: "404 page not found\n",
};
