// One stored object, several versions: what comes in is turned into the stored version, what goes out into the one asked for.
import { copyJson } from "#schema/apply/value.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { EncodedObject, WatchEvent } from "#wire/api-request.ts";
import { encodeObject } from "#wire/json.ts";
import { sent } from "./watcher.ts";

export const toStored = (kind: AnyKind, object: DraftObject): DraftObject =>
  kind.convert ? (copyJson(kind.convert.toStored(object as never)) as DraftObject) : object;

export const fromStored = (kind: AnyKind, object: ApiObject): ApiObject =>
  kind.convert ? (kind.convert.fromStored(object) as ApiObject) : object;

export function inVersion(kind: AnyKind, stored: EncodedObject): EncodedObject {
  return kind.convert ? converted(kind, stored.object) : stored;
}

function converted(kind: AnyKind, stored: ApiObject): EncodedObject {
  const object = fromStored(kind, stored);
  return { object, json: encodeObject(kind, object) };
}

export const allInVersion = (kind: AnyKind, items: readonly EncodedObject[]): readonly EncodedObject[] =>
  kind.convert ? items.map((stored) => inVersion(kind, stored)) : items;

/** The events of a watch; those of the stored version are passed on as they are, with their bytes. */
export function eventsInVersion(
  kind: AnyKind,
  events: AsyncIterable<readonly WatchEvent[]>,
): AsyncIterable<readonly WatchEvent[]> {
  return kind.convert ? allConverted(kind, events) : events;
}

async function* allConverted(
  kind: AnyKind,
  events: AsyncIterable<readonly WatchEvent[]>,
): AsyncGenerator<readonly WatchEvent[]> {
  for await (const batch of events)
    yield batch.map((event) =>
      event.type === "ERROR" || event.type === "BOOKMARK"
        ? event
        : sent(event.type, converted(kind, event.object as ApiObject)),
    );
}
