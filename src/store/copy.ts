// Moving a store from one engine to another, with revisions and times to live where the target can hold them.
import { inBatches } from "#base/collections.ts";
import { Conflict, type Entry, type Revision, type StoreEngine } from "./engine.ts";

export interface ImageEntry extends Entry {
  /** How long the key has to live; for ever if absent. */
  readonly ttlSeconds?: number;
}

/** All that is present in a store at one revision. */
export interface StoreImage {
  readonly revision: Revision;
  readonly entries: AsyncIterable<ImageEntry>;
}

/** What some engines can do beyond the interface. */
export interface StoreExtras {
  /** How long a key has to live that was there at a revision (defaults to the newest), if not for ever. */
  ttlSeconds?(key: string, at?: Revision): number | undefined | Promise<number | undefined>;
  /** Takes in an image as it is, with its revisions. The store must be fresh. */
  adopt?(image: StoreImage): Promise<void>;
}

export interface CopyResult {
  readonly entries: number;
  /** The revision of the source that was copied. */
  readonly revision: Revision;
  /** Whether the entries have the same revisions in the target. */
  readonly keptRevisions: boolean;
}

/** What is not under a slash is no object, but an engine's own. */
const allKeys = "/";
const pageEntries = 500;
const writersAtOnce = 64;

/** Copies what is present in `from` at this moment into `to`, which must be empty. */
export async function copyStore(
  from: StoreEngine & StoreExtras,
  to: StoreEngine & StoreExtras,
  signal: AbortSignal,
  onProgress: (done: number, total: number) => void = () => undefined,
): Promise<CopyResult> {
  const { entries: present } = await to.list(allKeys, { limit: 1 }, signal);
  if (present[0]) throw new Error(`the target is not empty: it has ${present[0].key}; copy into a fresh store`);
  let entries = 0;
  const counted = (done: number, total: number) => {
    entries = done;
    onProgress(done, total);
  };
  const image = await imageOf(from, signal, counted);
  if (to.adopt) {
    await to.adopt(image);
    return { entries, revision: image.revision, keptRevisions: true };
  }
  const batch: ImageEntry[] = [];
  const flush = () => inBatches(writersAtOnce, batch.splice(0), (entry) => putNew(to, entry));
  for await (const entry of image.entries) if (batch.push(entry) >= pageEntries) await flush();
  await flush();
  return { entries, revision: image.revision, keptRevisions: false };
}

/** What is present in a store at this moment, in pages. */
export async function imageOf(
  from: StoreEngine & StoreExtras,
  signal: AbortSignal,
  onProgress: (done: number, total: number) => void = () => undefined,
): Promise<StoreImage> {
  const first = await from.list(allKeys, { limit: pageEntries }, signal);
  const { revision } = first;
  async function* entries(): AsyncGenerator<ImageEntry> {
    let page = first;
    for (let done = 0; ; ) {
      const ttls = new Map<string, number>();
      await inBatches(writersAtOnce, page.entries, async ({ key }) => {
        const ttlSeconds = await from.ttlSeconds?.(key, revision);
        if (ttlSeconds !== undefined) ttls.set(key, ttlSeconds);
      });
      for (const entry of page.entries) {
        const ttlSeconds = ttls.get(entry.key);
        yield ttlSeconds === undefined ? entry : { ...entry, ttlSeconds };
      }
      done += page.entries.length;
      onProgress(done, done + page.remaining);
      const last = page.entries.at(-1);
      if (!last || page.remaining === 0) return;
      page = await from.list(allKeys, { at: revision, after: last.key, limit: pageEntries }, signal);
    }
  }
  return { revision, entries: entries() };
}

/** Writes an entry that is not there yet, or that was last written at `expected`. */
export async function putNew(
  to: StoreEngine,
  { key, value, ttlSeconds }: ImageEntry,
  expected: Revision = 0,
): Promise<void> {
  try {
    await to.put(key, value, expected, { ttlSeconds: ttlSeconds && Math.max(1, Math.ceil(ttlSeconds)) });
  } catch (error) {
    if (error instanceof Conflict) throw new Error(`someone else writes to the target: ${key} is not as it was left`);
    throw error;
  }
}
