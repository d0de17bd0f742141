// Moves what a store holds into one of another engine in two parts: most of it while the first is still written to, the rest after its last write.
// Revisions never go back: the target is brought beyond the newest revision that anybody may have seen of the source, and what a client
// knows of before is too old there, so it lists again.
import { inBatches } from "#base/collections.ts";
import { type ImageEntry, imageOf, putNew, type StoreExtras } from "./copy.ts";
import { type Entry, type Revision, type StoreEngine, Unavailable } from "./engine.ts";

type Source = Parameters<typeof imageOf>[0];

/** Not under a slash, so nobody takes them for objects. */
const raiser = (lane: number): string => `knarr-revision-${lane}`;
const lanes = 128;
const writersAtOnce = 64;

/** Writes until the store's revision is greater than the given one. Each write counts one. */
export async function raiseRevision(
  store: StoreEngine,
  beyond: Revision,
  signal: AbortSignal,
  onProgress: (done: number, total: number) => void = () => undefined,
): Promise<void> {
  const first = await store.revision(signal);
  let newest = first;
  const raise = async (lane: number): Promise<void> => {
    let entry: Entry | undefined = await store.get(raiser(lane), signal);
    while (newest <= beyond) {
      signal.throwIfAborted();
      entry = await store.put(raiser(lane), new Uint8Array(), entry?.modified ?? 0);
      newest = Math.max(newest, entry.modified);
      onProgress(Math.min(newest, beyond) - first, beyond - first);
    }
    if (entry) await store.delete(raiser(lane), entry.modified);
  };
  const needed = Math.min(lanes, Math.max(0, beyond - first + 1));
  await Promise.all(Array.from({ length: needed }, (_, lane) => raise(lane)));
}

export interface CatchUpResult {
  readonly written: number;
  readonly removed: number;
  readonly entries: number;
}

/** Makes the target equal to the source, of which it has what was there at revision `since`. Neither may be written to by others meanwhile. */
export async function catchUp(
  from: Source,
  to: StoreEngine,
  since: Revision,
  signal: AbortSignal,
): Promise<CatchUpResult> {
  const present = new Map<string, Revision>();
  for (const { key, modified } of (await to.list("/", {}, signal)).entries) present.set(key, modified);
  const changed: ImageEntry[] = [];
  let entries = 0;
  for await (const entry of (await imageOf(from, signal)).entries) {
    entries++;
    const isCopied = present.has(entry.key) && entry.modified <= since;
    if (!isCopied) changed.push(entry);
    else present.delete(entry.key);
  }
  await inBatches(writersAtOnce, changed, (entry) => putNew(to, entry, present.get(entry.key) ?? 0));
  for (const { key } of changed) present.delete(key);
  await inBatches(writersAtOnce, [...present], async ([key, modified]) => {
    await to.delete(key, modified);
  });
  return { written: changed.length, removed: present.size, entries };
}

/** Throws if the two differ in a key or a value, other than by keys whose time runs out. Neither may be written to by others meanwhile. */
export async function compareStores(
  from: StoreEngine & StoreExtras,
  to: StoreEngine & StoreExtras,
  signal: AbortSignal,
): Promise<void> {
  const [{ entries: wanted }, { entries: found }] = await Promise.all([
    from.list("/", {}, signal),
    to.list("/", {}, signal),
  ]);
  const values = new Map(found.map(({ key, value }) => [key, value]));
  for (const { key, value } of wanted) {
    if (!isSame(value, values.get(key)) && !(await mayBeGone(from, key, signal)))
      throw new Unavailable(`the copy differs from its source in ${key}`);
    values.delete(key);
  }
  for (const key of values.keys())
    if (!(await mayBeGone(to, key, signal)))
      throw new Unavailable(`the copy has ${key}, which its source does not have`);
}

const mayBeGone = async (store: StoreEngine & StoreExtras, key: string, signal: AbortSignal): Promise<boolean> =>
  (await store.ttlSeconds?.(key)) !== undefined || (await store.get(key, signal)) === undefined;

const isSame = (a: Uint8Array, b: Uint8Array | undefined): boolean =>
  b !== undefined && a.length === b.length && a.every((byte, i) => byte === b[i]);
