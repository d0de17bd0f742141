// A store whose values are encrypted on their way in and decrypted on their way out. Keys, revisions and the order of things are those of
// the engine within. What cannot be decrypted stays one entry among others: it is marked, and takes nothing else with it.
import { type Soon, soon } from "#base/soon.ts";
import {
  type BegunWrite,
  type Change,
  Conflict,
  type Entry,
  type Revision,
  type StoreEngine,
  TransformError,
  type WatchBatch,
} from "../engine.ts";
import { isEncrypted, identity as plain, type ValueTransformer } from "./value-transformer.ts";

/** Which values are encrypted, and how. May answer differently from one call to the next: configuration can be read again. */
export interface StoreEncryption {
  /** Undefined where values are to be as they are. */
  transformerOf(key: string): ValueTransformer | undefined;
  /** How errors call what is stored under a key, such as `secrets`. */
  resourceOf(key: string): string;
}

export function encryptedStore(store: StoreEngine, encryption: StoreEncryption): StoreEngine {
  const reader = new EntryReader(encryption);
  const copies = new SharedMemory();
  const begin = store.begin?.bind(store);
  const newest = store.newest?.bind(store);
  return {
    async get(key, signal) {
      const found = await store.get(key, signal);
      if (!found) return undefined;
      const entry = await reader.opened(found);
      if (entry.unreadable) throw entry.unreadable;
      return entry;
    },
    async list(prefix, options, signal) {
      const page = await store.list(prefix, options, signal);
      const entries = page.entries.map((entry) => reader.opened(entry));
      return { ...page, entries: await allOf(entries) };
    },
    async put(key, value, expected, options) {
      const sealed = reader.sealed(key, value);
      if (sealed === value) return store.put(key, value, expected, options);
      const entry = await store
        .put(key, sealed.slice(), expected, options)
        .catch((error) => reader.conflict(error, expected));
      return reader.written({ ...entry, value });
    },
    ...(begin && {
      begin(key, value, expected, options) {
        const sealed = reader.sealed(key, value);
        const begun = begin(key, sealed, expected, options);
        return sealed === value ? begun : begun && reader.begun(begun, copies.of(value), expected);
      },
    }),
    delete: (key, expected) => store.delete(key, expected).catch((error) => reader.conflict(error, expected)),
    async *watch(prefix, from, signal) {
      for await (const batch of store.watch(prefix, from, signal)) {
        const opened = reader.batch(batch);
        yield opened instanceof Promise ? await opened : opened;
      }
    },
    async isStale(key) {
      const transformer = encryption.transformerOf(key);
      const found = transformer && (await store.get(key));
      if (!found) return false;
      try {
        await transformer.prepare?.(found.value);
        return transformer.read(found.value, key).isStale;
      } catch (cause) {
        throw reader.failure(key, cause);
      }
    },
    ...(newest && { newest }),
    revision: (signal) => store.revision(signal),
    compact: (revision) => store.compact(revision),
    status: (signal) => store.status(signal),
    close: () => store.close(),
  };
}

const empty = new Uint8Array();

/** At once, if none of them must be waited for. */
const allOf = <T>(list: readonly Soon<T>[]): Soon<readonly T[]> =>
  list.some((one) => one instanceof Promise) ? Promise.all(list) : (list as readonly T[]);

/** Copies of values, many in one piece of memory: a piece for each would make the collector look at everything far more often. */
class SharedMemory {
  #piece = empty;
  #used = 0;

  of(value: Uint8Array): Uint8Array {
    const { length } = value;
    if (length > pieceBytes / 8) return value.slice();
    if (this.#used + length > this.#piece.length) {
      this.#piece = new Uint8Array(pieceBytes);
      this.#used = 0;
    }
    const copy = this.#piece.subarray(this.#used, this.#used + length);
    this.#used += length;
    copy.set(value);
    return copy;
  }
}
const pieceBytes = 128 * 1024;

/** Writes that are on their way to the disk, and back through a watch. */
const rememberedWrites = 256;

class EntryReader {
  readonly #encryption: StoreEncryption;
  readonly #written = new Map<Revision, Entry>();

  constructor(encryption: StoreEncryption) {
    this.#encryption = encryption;
  }

  sealed(key: string, value: Uint8Array): Uint8Array {
    const transformer = this.#encryption.transformerOf(key);
    if (!transformer) return value;
    try {
      return transformer.write(value, key);
    } catch (cause) {
      throw this.failure(key, cause);
    }
  }

  /** At once, unless something must be waited for. */
  opened(entry: Entry): Soon<Entry> {
    const wait = this.#encryption.transformerOf(entry.key)?.prepare?.(entry.value);
    if (!wait) return this.#open(entry);
    return wait.then(
      () => this.#open(entry),
      (cause) => this.#unreadable(entry, cause),
    );
  }

  begun({ entry, durable }: BegunWrite, value: Uint8Array, expected: Revision): BegunWrite {
    const written = this.written({ ...entry, value });
    return { entry: written, durable: durable.catch((error) => this.conflict(error, expected)) };
  }

  /** Remembers what was just written, which a watch is about to bring back. Revisions are never reused, not even if this one fails. */
  written(entry: Entry): Entry {
    this.#written.set(entry.modified, entry);
    if (this.#written.size > rememberedWrites)
      for (const oldest of this.#written.keys()) {
        this.#written.delete(oldest);
        break;
      }
    return entry;
  }

  /** What a write failed with; the entry in the way as those see it who may read it. */
  async conflict(error: unknown, expected: Revision): Promise<never> {
    if (!(error instanceof Conflict && error.present)) throw error;
    throw new Conflict(error.key, expected, await this.opened(error.present));
  }

  /** The same batch where nothing in it is encrypted. */
  batch(batch: WatchBatch): Soon<WatchBatch> {
    const { changes, revision } = batch;
    if (!changes.some(({ entry }) => this.#encryption.transformerOf(entry.key))) {
      // Without a transformer only a mistake can make a value unreadable.
      if (!changes.some(({ entry }) => isEncrypted(entry.value))) return batch;
    }
    return soon(allOf(changes.map((change) => this.#change(change))), (opened) => ({ changes: opened, revision }));
  }

  #change(change: Change): Soon<Change> {
    const { type, entry } = change;
    const transformer = this.#encryption.transformerOf(entry.key);
    const open = (one: Entry) => this.#open(one);
    if (!transformer?.prepare) {
      const opened = type === "put" ? open(entry) : entry;
      // What was before is read from the store only for those who ask for it.
      return {
        type,
        entry: opened,
        get previous() {
          const { previous } = change;
          return previous && open(previous);
        },
      } as Change;
    }
    const before = change.previous; // in a later turn the store may no longer have it
    const now = type === "put" ? this.opened(entry) : entry;
    const previous = before && this.opened(before);
    const made = (current: Entry, old: Entry | undefined): Change => ({
      type,
      entry: current,
      ...(old && { previous: old }),
    });
    if (now instanceof Promise || previous instanceof Promise)
      return Promise.all([now, previous]).then(([current, old]) => made(current, old));
    return made(now, previous);
  }

  #open(entry: Entry): Entry {
    const { key, value, modified } = entry;
    const written = this.#written.get(modified);
    if (written?.key === key) return written;
    const transformer = this.#encryption.transformerOf(key) ?? plain;
    try {
      const read = transformer.read(value, key).value;
      return read === value ? entry : { ...entry, value: read };
    } catch (cause) {
      return this.#unreadable(entry, cause);
    }
  }

  #unreadable(entry: Entry, cause: unknown): Entry {
    return { ...entry, value: empty, unreadable: this.failure(entry.key, cause) };
  }

  failure(key: string, cause: unknown): TransformError {
    const why = cause instanceof Error ? cause.message : String(cause);
    const resource = this.#encryption.resourceOf(key);
    return new TransformError(`unable to transform key ${JSON.stringify(key)}: ${resource}: ${why}`, { cause });
  }
}
