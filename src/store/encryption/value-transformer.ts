// What stands between a value and the store: it is written by the first of some transformers, and read by whichever put its prefix before
// it. Upstream: staging/src/k8s.io/apiserver/pkg/storage/value/transformer.go.

export interface ReadValue {
  readonly value: Uint8Array;
  /** Whether it would be written in another way now. */
  readonly isStale: boolean;
}

/** Encrypts and decrypts values. The key they are stored under is authenticated with them, so that they cannot be moved to another. */
export interface ValueTransformer {
  /** What must be waited for before this value can be read, such as an answer of a key service; undefined if nothing. */
  prepare?(stored: Uint8Array): Promise<void> | undefined;
  /** Throws an Error that says why the value cannot be read. */
  read(stored: Uint8Array, key: string): ReadValue;
  /**
   * What is to be stored, behind `head`. The bytes are good until the next call: an engine that copies them needs no other copy. Throws
   * an Error that says why nothing can be written at present.
   */
  write(value: Uint8Array, key: string, head?: Uint8Array): Uint8Array;
}

export interface PrefixedTransformer {
  /** What stored values begin with; empty of those that are as they are. */
  readonly prefix: string;
  readonly transformer: ValueTransformer;
  /** How errors call it, such as `aesgcm key "key1"`. */
  readonly name?: string;
}

const encoder = new TextEncoder();
const nothing = new Uint8Array();

/**
 * Writes with the first, reads with all whose prefix fits: two keys of one name may both be tried. `unmatched` says of a value that none
 * fits. The list must not be empty.
 */
export function firstOf(
  list: readonly PrefixedTransformer[],
  unmatched: (stored: Uint8Array) => string,
): ValueTransformer {
  const candidates = list.map((one) => ({ ...one, bytes: encoder.encode(one.prefix) }));
  const [first] = candidates;
  if (!first) throw new Error("there is no transformer to write with");
  const fitting = (stored: Uint8Array) => candidates.filter(({ bytes }) => startsWith(stored, bytes));
  let outer: Uint8Array = nothing;
  let inner: Uint8Array = first.bytes;
  const prepares = list.some(({ transformer }) => transformer.prepare);
  return {
    ...(prepares && {
      prepare(stored: Uint8Array) {
        const waits = fitting(stored).flatMap(({ transformer, bytes, name }) => {
          const wait = transformer.prepare?.(stored.subarray(bytes.length));
          return wait ? [wait.catch((error) => Promise.reject(new Error(named(name, error), { cause: error })))] : [];
        });
        return waits.length === 0 ? undefined : firstSuccess(waits);
      },
    }),
    read(stored, key) {
      const problems: string[] = [];
      for (const { transformer, bytes, name } of fitting(stored)) {
        try {
          const { value, isStale } = transformer.read(stored.subarray(bytes.length), key);
          return { value, isStale: isStale || bytes !== first.bytes };
        } catch (error) {
          // What is encrypted is not for those who leave values as they are: the next may have the key.
          if (bytes.length > 0) problems.push(named(name, error));
        }
      }
      throw new Error(aggregate(problems) ?? unmatched(stored));
    },
    write(value, key, head = nothing) {
      // Whoever is around this one has always the same head.
      if (head !== outer) [outer, inner] = [head, joined(head, first.bytes)];
      try {
        return first.transformer.write(value, key, inner);
      } catch (error) {
        throw new Error(named(first.name, error), { cause: error });
      }
    },
  };
}

/** Rejects with the first reason if none of them succeeds: what one cannot prepare another may. */
async function firstSuccess(waits: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(waits);
  if (results.some(({ status }) => status === "fulfilled")) return;
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

const named = (name: string | undefined, error: unknown): string => {
  const text = error instanceof Error ? error.message : String(error);
  return name === undefined ? text : `${name}: ${text}`;
};

/** Several errors as Go writes them; undefined of none. */
export function aggregate(problems: readonly string[]): string | undefined {
  const distinct = [...new Set(problems)];
  return distinct.length > 1 ? `[${distinct.join(", ")}]` : distinct[0];
}

/** Values that are encrypted begin with this, and no others do. */
const encryptedMark = encoder.encode("k8s:enc:");

export const isEncrypted = (stored: Uint8Array): boolean => startsWith(stored, encryptedMark);

/** Leaves values as they are, and refuses those that are encrypted. */
export const identity: ValueTransformer = {
  read(stored) {
    if (isEncrypted(stored)) throw new Error("identity transformer tried to read encrypted data");
    return { value: stored, isStale: false };
  },
  write: (value, _key, head = nothing) => joined(head, value),
};

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false;
  for (let at = 0; at < prefix.length; at++) if (bytes[at] !== prefix[at]) return false;
  return true;
}

/** One behind the other, in new memory unless there is but one. */
export function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts.filter(({ length }) => length > 0);
  const length = lengthOf(parts);
  return only?.length === length ? only : put(parts, new Uint8Array(length));
}

/** Memory for what is copied at once: a buffer for each value would make the collector look at everything far more often. */
const scratch = new Uint8Array(128 * 1024);

/** The same in memory that the next call uses again. */
export function joinedBriefly(...parts: readonly Uint8Array[]): Uint8Array {
  const length = lengthOf(parts);
  return put(parts, length > scratch.length ? new Uint8Array(length) : scratch.subarray(0, length));
}

const lengthOf = (parts: readonly Uint8Array[]): number => parts.reduce((sum, part) => sum + part.length, 0);

function put(parts: readonly Uint8Array[], bytes: Uint8Array): Uint8Array {
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
