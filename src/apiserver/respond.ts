// The last stage: an answer in the form the client wants. What is stored goes out as the bytes that were made when it was
// written; only tables, metadata alone and foreign encodings are made for one answer.
import { PartialObjectMetadata, PartialObjectMetadataList } from "#api/meta/partial-object-metadata.ts";
import { Status } from "#api/meta/status.ts";
import { Table } from "#api/meta/table.ts";
import { breathe } from "#base/breathe.ts";
import type { Clock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { listStruct } from "#schema/protobuf/list.ts";
import {
  type IncludeObject,
  type MetaVersion,
  parseIncludeObject,
  partialObjectMetadata,
  partialObjectMetadataList,
  tableOfList,
  tableOfObject,
} from "#schema/table.ts";
import type { ApiResponse, EncodedObject, ListPage, WatchEvent } from "#wire/api-request.ts";
import { type Codec, type Named, named } from "#wire/codec.ts";
import type { HttpRequest, HttpResponse, Parts } from "#wire/http.ts";
import { joined, jsonCodec } from "#wire/json.ts";
import { type Accepted, type Conversion, negotiate, offers } from "#wire/negotiate.ts";
import { protobufCodec } from "#wire/protobuf.ts";
import { notAcceptable, statusOf } from "#wire/status.ts";
import { warningHeaders } from "#wire/warning.ts";
import { yamlCodec } from "#wire/yaml.ts";

/** What the client wants to get, chosen from its Accept header before anything is done. */
export interface Wanted {
  readonly codec: Codec;
  readonly as: "object" | "table" | "metadata";
  readonly metaVersion: MetaVersion;
  readonly includeObject: IncludeObject;
  readonly pretty: boolean;
}

const codecs: ReadonlyMap<string, Codec> = new Map(
  [jsonCodec, yamlCodec, protobufCodec].map((codec) => [codec.mediaType, codec]),
);
const shapes: Readonly<Record<string, Wanted["as"]>> = {
  Table: "table",
  PartialObjectMetadata: "metadata",
  PartialObjectMetadataList: "metadata",
};

/** Throws ApiError 406 if there is nothing the client would take. */
export function wantedBy(request: HttpRequest, isWatch: boolean): Wanted {
  const { headers, query } = request;
  const { mediaType, convert, isPretty } = accepted(headers.accept ?? "", isWatch);
  return {
    codec: codecs.get(mediaType) ?? jsonCodec,
    as: shapes[convert?.kind ?? ""] ?? "object",
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
export function wantedOfRefusal(request: HttpRequest): Wanted {
  try {
    return { ...wantedBy(request, false), as: "object" };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return indentedJson;
  }
}

/** A cluster's clients send the same few headers over and over. */
const recent = { list: new Map<string, Accepted>(), watch: new Map<string, Accepted>() };
const mostRecent = 100;

function accepted(accept: string, isWatch: boolean): Accepted {
  const known = recent[isWatch ? "watch" : "list"];
  const present = known.get(accept);
  if (present) return present;
  const result = negotiate(accept, { offers, isWatch, allows: isAllowed });
  if ("acceptable" in result) throw notAcceptable(result.acceptable);
  if (known.size >= mostRecent) known.clear();
  if (accept.length <= 500) known.set(accept, result.accepted);
  return result.accepted;
}

const isAllowed = ({ kind, group, version }: Conversion, mediaType: string): boolean =>
  group === "meta.k8s.io" &&
  (version === "v1" || version === "v1beta1") &&
  shapes[kind] !== undefined &&
  (kind !== "Table" || mediaType !== protobufCodec.mediaType);

const indentedJson: Wanted = {
  codec: jsonCodec,
  as: "object",
  metaVersion: "meta.k8s.io/v1",
  includeObject: "Metadata",
  pretty: true,
};

const statusNamed: Named = { apiVersion: "v1", kind: "Status", struct: Status };
const tableNamed = (apiVersion: string): Named => ({ apiVersion, kind: "Table", struct: Table });

export function respond(response: ApiResponse, wanted: Wanted, clock: Clock): HttpResponse {
  const headers = headersOf(response, wanted);
  if (response.type === "object" && isStoredJson(wanted)) {
    const { code, stored } = response;
    return { code, headers, body: stored.json };
  }
  const now = clock.now();
  switch (response.type) {
    case "object": {
      const { kind, stored, code } = response;
      return { code, headers, body: encode(wanted, shaped(kind, stored.object, wanted, now)) };
    }
    case "plain": {
      const { kind, object, code } = response;
      const one = kind ? shaped(kind, object as ApiObject, wanted, now) : { named: statusNamed, object };
      return { code, headers, body: encode(wanted, one) };
    }
    case "list": {
      const { page } = response;
      return {
        code: 200,
        headers,
        body: isStoredJson(wanted) ? listBytes(page) : encode(wanted, listAs(page, wanted, now)),
      };
    }
    case "watch":
      return { code: 200, headers, body: watchBytes(response.kind, response.events, wanted, now) };
  }
}

function headersOf({ type, warnings = [] }: ApiResponse, { codec }: Wanted): Headers {
  const headers = usualHeaders.get(codec)?.[type === "watch" ? "watch" : "whole"] ?? uncached;
  return warnings.length === 0 ? headers : { ...headers, warning: warningHeaders(warnings) };
}

/** What one user may see is not for the next, and not for long. */
export const uncached = { "cache-control": "no-cache, private" } as const;

export const respondError = (error: ApiError, wanted: Wanted): HttpResponse => ({
  code: error.code,
  headers: {
    "content-type": wanted.codec.mediaType,
    ...uncached,
    ...(error.details?.retryAfterSeconds !== undefined && { "retry-after": String(error.details.retryAfterSeconds) }),
    ...(error.code === 401 && { "www-authenticate": 'Bearer realm="kubernetes"' }),
  },
  body: encode(wanted, { named: statusNamed, object: statusOf(error) }),
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
const isStoredJson = ({ codec, as, pretty }: Wanted): boolean => codec === jsonCodec && as === "object" && !pretty;

interface Shaped {
  readonly named: Named;
  readonly object: object;
}

function encode({ codec, pretty }: Wanted, { named, object }: Shaped): Uint8Array {
  if (!codec.supports(named.struct)) throw notAcceptable([jsonCodec.mediaType, yamlCodec.mediaType]);
  return codec.encode(named, object, { isPretty: pretty });
}

/** One object in the shape asked for. */
function shaped(kind: AnyKind, object: ApiObject, { as, metaVersion, includeObject }: Wanted, now: number): Shaped {
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

function listAs(page: ListPage, { as, metaVersion, includeObject }: Wanted, now: number): Shaped {
  const { kind } = page;
  const list = { metadata: listMetadata(page), items: page.items.map(({ object }) => object) };
  switch (as) {
    case "object":
      return {
        named: { apiVersion: kind.apiVersion, kind: `${kind.kind}List`, struct: listStruct(kind) },
        object: list,
      };
    case "metadata":
      return {
        named: { apiVersion: metaVersion, kind: "PartialObjectMetadataList", struct: PartialObjectMetadataList },
        object: partialObjectMetadataList(list, metaVersion),
      };
    case "table":
      return {
        named: tableNamed(metaVersion),
        object: tableOfList(kind, list, { apiVersion: metaVersion, includeObject, now }),
      };
  }
}

const listMetadata = ({ resourceVersion, continue: next, remainingItemCount }: ListPage) => ({
  resourceVersion,
  ...(next !== undefined && { continue: next }),
  ...(remainingItemCount !== undefined && { remainingItemCount }),
});

const encoder = new TextEncoder();
const end = encoder.encode("]}\n");
const comma = encoder.encode(",");

/** A head, the items' own bytes and a tail, put together while they are sent. */
function listBytes(page: ListPage): Parts {
  const { kind, items } = page;
  const metadata = JSON.stringify(listMetadata(page));
  const head = encoder.encode(
    `{"kind":"${kind.kind}List","apiVersion":"${kind.apiVersion}","metadata":${metadata},"items":[`,
  );
  const size = head.length + sizeOf(items) + Math.max(0, items.length - 1) + end.length;
  return { size, [Symbol.iterator]: () => itemsBetween(head, items) };
}

/** Of all items together. Clients that list at once share the items, and to look at 10,000 of them takes a millisecond. */
const sizes = new WeakMap<readonly EncodedObject[], number>();
const sizeOf = (items: readonly EncodedObject[]): number =>
  sizes.get(items) ?? items.reduce((sum, { json }) => sum + json.length, 0);

/** To be called before `respond`: the bytes of a list may have to be made, and all at once that would take too long. */
export async function prepare({ items }: ListPage, wanted: Wanted): Promise<void> {
  if (!isStoredJson(wanted) || sizes.has(items)) return;
  const pause = breathe();
  let size = 0;
  for (const [i, { json }] of items.entries()) {
    size += json.length;
    if (i % 32 === 0 && pause.due()) await pause.now();
  }
  sizes.set(items, size);
}

function* itemsBetween(head: Uint8Array, items: readonly EncodedObject[]): Generator<Uint8Array> {
  yield head;
  for (let i = 0; i < items.length; i++) {
    if (i > 0) yield comma;
    yield (items[i] as EncodedObject).json;
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
  kind: AnyKind,
  events: AsyncIterable<readonly WatchEvent[]>,
  wanted: Wanted,
  now: number,
): AsyncGenerator<Uint8Array> {
  const { codec, as, metaVersion, includeObject } = wanted;
  const frames = codec.watch;
  if (!frames) throw new Error(`${codec.mediaType} has no way to send events`);
  let headers = true;
  for await (const batch of events) {
    if (as === "object" && codec === jsonCodec) {
      yield lines(batch);
      continue;
    }
    for (const event of batch) {
      const { type, object } = event;
      if (type === "ERROR") yield frames.encode(statusNamed, { type, object });
      else if (as === "object") yield frames.encode(named(kind), event);
      else if (as === "table") {
        const bookmark = type === "BOOKMARK";
        const options = { apiVersion: metaVersion, includeObject, headers, bookmark, now };
        yield frames.encode(tableNamed(metaVersion), {
          type,
          object: tableOfObject(kind, object as ApiObject, options),
        });
        headers = false;
      } else {
        const one = shaped(kind, object as ApiObject, wanted, now);
        yield frames.encode(one.named, { type, object: one.object });
      }
    }
  }
}
