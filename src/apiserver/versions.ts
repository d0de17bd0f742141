// One stored object, several versions: what comes in is turned into the stored version, what goes out into the one asked for. Where a
// webhook converts, all of a list go to it together.
import { type Soon, soon } from "#base/soon.ts";
import { copyJson } from "#schema/apply/value.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { EncodedObject, WatchEvent } from "#wire/api-request.ts";
import { encodeObject } from "#wire/json.ts";
import { unexpectedError } from "#wire/status.ts";
import { sent } from "./watcher.ts";

export function toStored(kind: AnyKind, object: DraftObject): Soon<DraftObject> {
  const { convert } = kind;
  if (!convert) return object;
  if (convert.remote) return convert.remote([object], convert.to()).then(([one]) => one as DraftObject);
  return copyJson(convert.toStored(object as never)) as DraftObject;
}

export const fromStored = (kind: AnyKind, object: ApiObject): Soon<ApiObject> =>
  soon(allFromStored(kind, [object]), ([one]) => one as ApiObject);

function allFromStored(kind: AnyKind, objects: readonly ApiObject[]): Soon<readonly ApiObject[]> {
  const { convert } = kind;
  if (!convert) return objects;
  if (convert.remote) return convert.remote(objects, kind) as Promise<readonly ApiObject[]>;
  return objects.map((object) => convert.fromStored(object) as ApiObject);
}

/** The same at once, for who cannot wait. Throws ApiError where a webhook would have to be asked: to guess could lose what was written. */
export const toStoredNow = (kind: AnyKind, object: DraftObject): DraftObject => {
  refuseRemote(kind);
  return toStored(kind, object) as DraftObject;
};

export const fromStoredNow = (kind: AnyKind, object: ApiObject): ApiObject => {
  refuseRemote(kind);
  return fromStored(kind, object) as ApiObject;
};

function refuseRemote({ convert, apiVersion, kind }: AnyKind): void {
  if (convert?.remote)
    throw unexpectedError(`conversion webhook for ${apiVersion}, Kind=${kind} cannot be called during admission`);
}

export const inVersion = (kind: AnyKind, stored: EncodedObject): Soon<EncodedObject> =>
  kind.convert ? soon(fromStored(kind, stored.object), (object) => encoded(kind, object)) : stored;

const encoded = (kind: AnyKind, object: ApiObject): EncodedObject => ({ object, json: encodeObject(kind, object) });

export const allInVersion = (kind: AnyKind, items: readonly EncodedObject[]): Soon<readonly EncodedObject[]> =>
  kind.convert
    ? soon(
        allFromStored(
          kind,
          items.map(({ object }) => object),
        ),
        (objects) => objects.map((object) => encoded(kind, object)),
      )
    : items;

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
  for await (const batch of events) {
    const objects = batch.filter(hasObject).map(({ object }) => object as ApiObject);
    const queue = (await allFromStored(kind, objects)).values();
    yield batch.map((event) =>
      hasObject(event) ? sent(event.type, encoded(kind, queue.next().value as ApiObject)) : event,
    );
  }
}

const hasObject = ({ type }: WatchEvent): boolean => type !== "ERROR" && type !== "BOOKMARK";
