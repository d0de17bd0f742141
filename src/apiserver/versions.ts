// One stored object, several versions: what comes in is turned into the stored version, what goes out into the one asked for. Where a
// webhook converts, all of a list go to it together.
import { type Soon, soon } from "#base/soon.ts";
import { copyJson } from "#schema/apply/value.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { EncodedObject, WatchEvent, WatchEventType } from "#wire/api-request.ts";
import { encodeObject, namesHead } from "#wire/json.ts";
import { sent } from "./watcher.ts";

/** What the registry of a version is given. Where versions are peers it has a registry of its own, which converts when it writes. */
export function toStored(kind: AnyKind, object: DraftObject): DraftObject {
  const { convert, peers } = kind;
  return convert && !peers ? (copyJson(convert.toStored(object as never)) as DraftObject) : object;
}

/** An object that was stored, in a version of its kind. */
export const fromStored = (kind: AnyKind, object: ApiObject): Soon<ApiObject> =>
  soon(allFromStored(kind, [object]), ([one]) => one as ApiObject);

function allFromStored(kind: AnyKind, objects: readonly ApiObject[]): Soon<readonly ApiObject[]> {
  const { convert, peers } = kind;
  if (peers) return allFromPeers(kind, objects);
  return convert ? objects.map((object) => convert.fromStored(object) as ApiObject) : objects;
}

/** Those that are of the version already stay as they are. */
function allFromPeers(kind: AnyKind, objects: readonly ApiObject[]): Soon<readonly ApiObject[]> {
  const others = objects.filter(({ apiVersion }) => apiVersion !== kind.apiVersion);
  if (others.length === 0 || !kind.peers) return objects;
  return soon(kind.peers.adopt(others), (adopted) => {
    const queue = adopted.values();
    return objects.map((object) =>
      object.apiVersion === kind.apiVersion ? object : (queue.next().value as ApiObject),
    );
  });
}

/** An object of one version in another. */
export function converted(from: AnyKind, to: AnyKind, object: ApiObject): Soon<ApiObject> {
  if (from === to) return object;
  return fromStored(to, toStored(from, object as DraftObject) as ApiObject);
}

export const inVersion = (kind: AnyKind, stored: EncodedObject): Soon<EncodedObject> =>
  isAsStored(kind, stored) ? stored : soon(fromStored(kind, stored.object), (object) => encoded(kind, object));

const encoded = (kind: AnyKind, object: ApiObject): EncodedObject => ({ object, json: encodeObject(kind, object) });

/** Whether what is stored is of the version that is asked for. Its bytes say so: to read it only for that would take longer. */
function isAsStored(kind: AnyKind, stored: EncodedObject): boolean {
  if (kind.convert) return false;
  return !kind.peers?.isRemote || isCalled(kind, stored.json);
}

const heads = new WeakMap<AnyKind, Uint8Array>();

function isCalled(kind: AnyKind, json: Uint8Array): boolean {
  const head = heads.get(kind) ?? new TextEncoder().encode(namesHead(kind));
  heads.set(kind, head);
  return head.every((byte, i) => json[i] === byte);
}

export function allInVersion(kind: AnyKind, items: readonly EncodedObject[]): Soon<readonly EncodedObject[]> {
  if (!kind.convert && !kind.peers?.isRemote) return items;
  const others = items.filter((item) => !isAsStored(kind, item));
  if (others.length === 0) return items;
  const objects = others.map(({ object }) => object);
  return soon(allFromStored(kind, objects), (all) => {
    const queue = all.values();
    return items.map((item) => (isAsStored(kind, item) ? item : encoded(kind, queue.next().value as ApiObject)));
  });
}

type Wants = (object: ApiObject) => boolean;

/** The events of a watch; those of the stored version are passed on as they are, with their bytes. */
export function eventsInVersion(
  kind: AnyKind,
  events: AsyncIterable<readonly WatchEvent[]>,
  wants?: Wants,
): AsyncIterable<readonly WatchEvent[]> {
  return kind.convert || kind.peers?.isRemote ? allConverted(kind, events, wants) : events;
}

/** Where it is found out after conversion what is wanted, what an object was before is converted as well. */
async function* allConverted(
  kind: AnyKind,
  events: AsyncIterable<readonly WatchEvent[]>,
  wants: Wants | undefined,
): AsyncGenerator<readonly WatchEvent[]> {
  const before = ({ previous }: WatchEvent) => (wants && previous ? [previous.object] : []);
  for await (const batch of events) {
    const objects = batch.filter(hasObject).flatMap((event) => [event.object as ApiObject, ...before(event)]);
    const queue = (await allFromStored(kind, objects)).values();
    const told = batch.flatMap((event) => {
      if (!hasObject(event)) return [event];
      const object = queue.next().value as ApiObject;
      const [previous] = before(event).map(() => queue.next().value as ApiObject);
      const shown = (type: WatchEventType) =>
        type === event.type && object === event.object ? event : sent(type, encoded(kind, object));
      return wants ? selected(kind, wants, event.type, { object, previous }, shown) : [shown(event.type)];
    });
    if (told.length > 0) yield told;
  }
}

/** What an event means to a watcher with a selector: an object that starts to match is added, one that stops is deleted. */
function selected(
  kind: AnyKind,
  wants: Wants,
  type: WatchEventType,
  { object, previous }: { readonly object: ApiObject; readonly previous: ApiObject | undefined },
  shown: (type: WatchEventType) => WatchEvent,
): readonly WatchEvent[] {
  const is = wants(object);
  if (type !== "MODIFIED") return is ? [shown(type)] : [];
  const was = previous !== undefined && wants(previous);
  if (is) return [shown(was ? "MODIFIED" : "ADDED")];
  if (!was) return [];
  const { resourceVersion } = object.metadata;
  const gone = { ...previous, metadata: { ...previous.metadata, resourceVersion } } as ApiObject;
  return [sent("DELETED", encoded(kind, gone))];
}

const hasObject = ({ type }: WatchEvent): boolean => type !== "ERROR" && type !== "BOOKMARK";
