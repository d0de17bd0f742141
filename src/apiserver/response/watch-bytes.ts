// The bytes of a watch. Watchers that want what is stored share the bytes of each batch.
import type { Clock } from "#base/clock.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { tableOfObject } from "#schema/table.ts";
import type { ApiResponse, WatchEvent } from "#wire/api-request.ts";
import { named } from "#wire/codec.ts";
import { joined, jsonCodec } from "#wire/json.ts";
import type { WebSocketMessage } from "#wire/streams/websocket.ts";
import type { ResponseForm } from "./form.ts";
import { tableNamed } from "./list-shape.ts";
import { shaped, statusNamed } from "./shape.ts";

type WatchResponse = Extract<ApiResponse, { readonly type: "watch" }>;

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

export async function* watchBytes(
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
