// Turns the JSON of a server into the response that a server of the same process would give: decoded, with apiVersion and kind, and with
// every field that the type promises.

import { Status } from "#api/meta/status.ts";
import type { ApiError } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { DecodeError, parseJson } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { exactValue } from "#schema/structural/exact-integers.ts";
import type { ApiRequest, ApiResponse, EncodedObject, WatchEvent, WatchEventType } from "#wire/api-request.ts";
import type { Codec, EncodedPart, EventOf } from "#wire/codec.ts";
import { errorOf } from "./client.ts";
import { ConnectionLost } from "./connection-lost.ts";

type Json = Readonly<Record<string, unknown>>;
export function responseIn({ expects, verb }: ApiRequest, code: number, text: string): ApiResponse {
  const parsed = parseJson(text);
  const value = expects?.model.keepsInt64 ? exactValue(text, parsed.value) : parsed.value;
  if (!isObject(value)) throw new DecodeError("the server's answer is no object");
  if (!expects || isStatus(value)) return { type: "plain", code, object: value };
  if (verb === "list" || (verb === "deletecollection" && Array.isArray(value.items))) return listIn(expects, value);
  return {
    type: "object",
    code,
    kind: expects,
    stored: encoded(objectOf(expects, decodeValue(expects, value).object)),
  };
}

function listIn(kind: AnyKind, { metadata, items }: Json): ApiResponse {
  const { resourceVersion, continue: next, remainingItemCount } = isObject(metadata) ? metadata : {};
  const list = Array.isArray(items) ? items : [];
  return {
    type: "list",
    page: {
      kind,
      items: list.map((item) => encoded(objectOf(kind, decodeValue(kind, item).object))),
      resourceVersion: typeof resourceVersion === "string" ? resourceVersion : "",
      ...(typeof next === "string" && next !== "" && { continue: next }),
      ...(typeof remainingItemCount === "number" && { remainingItemCount }),
    },
  };
}

/** Events as they come, one batch for all that arrived together. */
export function watchedIn({ expects: kind }: ApiRequest, chunks: AsyncIterable<Uint8Array>, codec: Codec): ApiResponse {
  if (!kind) throw new Error("a watch must say which kind it expects");
  const { watch } = codec;
  if (!watch) throw new Error(`${codec.mediaType} has no way to send events`);
  const frames = watch.frames();
  const events = async function* () {
    for await (const chunk of chunks) {
      const batch = frames.push(chunk);
      if (batch.length > 0) yield batch.map((event) => eventOf(kind, event));
    }
    if (frames.isPartial) throw new ConnectionLost("the watch ended in the middle of an event");
  };
  return { type: "watch", kind, events: events() };
}

const types: ReadonlySet<string> = new Set<WatchEventType>(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]);
const isType = (type: string): type is WatchEventType => types.has(type);

function eventOf(kind: AnyKind, { type, object: part }: EventOf<EncodedPart>): WatchEvent {
  if (!isType(type)) throw new DecodeError(`an event of the unknown type ${JSON.stringify(type)}`);
  const object = type === "ERROR" ? part.decode(Status).object : objectOf(kind, part.decode(kind).object);
  return { type, object, json: () => encoder.encode(JSON.stringify({ type, object })) };
}

/** The error of a refused request, whether its body is a Status or not. */
export function errorIn(code: number, text: string, retryAfter: string | undefined): ApiError {
  const seconds = Number(retryAfter);
  const details = retryAfter !== undefined && seconds > 0 ? { retryAfterSeconds: seconds } : {};
  const status = statusIn(text);
  if (status)
    return errorOf({ code, ...status, details: { ...details, ...(isObject(status.details) && status.details) } });
  const message = text.trim().slice(0, 1000) || `the server answered with ${code}`;
  return errorOf({ code, reason: reasons[code] ?? "", message, details });
}

function statusIn(text: string): Json | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const { value } = parseJson(text);
    return isObject(value) && isStatus(value) ? value : undefined;
  } catch (error) {
    if (error instanceof DecodeError) return undefined; // then the text itself is the message
    throw error;
  }
}

const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Gone",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

const isStatus = ({ kind, apiVersion }: Json): boolean => kind === "Status" && apiVersion === "v1";

/** Items of a list come without their names, and what is zero is dropped in decoding though the type promises it. */
const objectOf = (kind: AnyKind, decoded: Readonly<Record<string, unknown>>): ApiObject =>
  applyDefaults(kind, { ...decoded, apiVersion: kind.apiVersion, kind: kind.kind }) as object as ApiObject;

const encoder = new TextEncoder();
const encoded = (object: ApiObject): EncodedObject => ({
  object,
  get json() {
    return encoder.encode(JSON.stringify(object));
  },
});
