// The bytes of a list: its items as they are stored, or each encoded in another form, with turns for others in between.
import { breathe, inTurns } from "#base/breathe.ts";
import type { EncodedObject, ListPage } from "#wire/api-request.ts";
import type { Parts } from "#wire/http.ts";
import { joined, namesHead } from "#wire/json.ts";
import type { ResponseForm } from "./form.ts";
import { listShape, objectListMetadata } from "./list-shape.ts";
import { encode, supporting } from "./shape.ts";

/** A list in another form than the stored one, made item by item: other requests get their turn in between. */
export async function encodedList(page: ListPage, wanted: ResponseForm, now: number): Promise<Parts | Uint8Array> {
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
export function listBytes(page: ListPage): Parts {
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
export async function measure({ items }: ListPage): Promise<void> {
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
