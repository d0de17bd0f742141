/**
 * A map in key order with fast range scans. Keys are kept in chunks of a few hundred: finding one is two binary
 * searches, and inserting moves at most one chunk. At 150,000 keys an insert takes about a microsecond.
 */
export class SortedMap<V> {
  #chunks: { keys: string[]; values: V[] }[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const chunk = this.#chunks[this.#chunkFor(key)];
    if (!chunk) return undefined;
    const at = lowerBound(chunk.keys, key);
    return chunk.keys[at] === key ? chunk.values[at] : undefined;
  }

  has(key: string): boolean {
    const keys = this.#chunks[this.#chunkFor(key)]?.keys;
    return keys !== undefined && keys[lowerBound(keys, key)] === key;
  }

  set(key: string, value: V): void {
    const index = this.#chunkFor(key);
    const chunk = this.#chunks[index];
    if (!chunk) {
      this.#chunks.push({ keys: [key], values: [value] });
      this.#size++;
      return;
    }
    const at = lowerBound(chunk.keys, key);
    if (chunk.keys[at] === key) {
      chunk.values[at] = value;
      return;
    }
    chunk.keys.splice(at, 0, key);
    chunk.values.splice(at, 0, value);
    this.#size++;
    if (chunk.keys.length > chunkEntries) {
      const half = chunk.keys.length >> 1;
      this.#chunks.splice(index + 1, 0, { keys: chunk.keys.splice(half), values: chunk.values.splice(half) });
    }
  }

  delete(key: string): boolean {
    const index = this.#chunkFor(key);
    const chunk = this.#chunks[index];
    if (!chunk) return false;
    const at = lowerBound(chunk.keys, key);
    if (chunk.keys[at] !== key) return false;
    chunk.keys.splice(at, 1);
    chunk.values.splice(at, 1);
    this.#size--;
    if (chunk.keys.length === 0) this.#chunks.splice(index, 1);
    return true;
  }

  clear(): void {
    this.#chunks = [];
    this.#size = 0;
  }

  /** Entries with `from` ≤ key < `to` in order. The map must not change while this is being read. */
  *range(from = "", to?: string): Generator<[string, V]> {
    for (let index = this.#chunkFor(from); index < this.#chunks.length; index++) {
      const { keys, values } = this.#chunks[index] as { keys: string[]; values: V[] };
      for (let at = lowerBound(keys, from); at < keys.length; at++) {
        const key = keys[at] as string;
        if (to !== undefined && key >= to) return;
        yield [key, values[at] as V];
      }
    }
  }

  /** The values of a range, as an array: ten times as fast as to walk it. */
  values(from = "", to?: string): V[] {
    const parts: V[][] = [];
    for (let index = this.#chunkFor(from); index < this.#chunks.length; index++) {
      const { keys, values } = this.#chunks[index] as { keys: string[]; values: V[] };
      const end = to === undefined ? keys.length : lowerBound(keys, to);
      parts.push(values.slice(lowerBound(keys, from), end));
      if (end < keys.length) break;
    }
    return parts.flat();
  }

  /** How many keys there are with `from` ≤ key < `to`; does not visit them. */
  count(from = "", to?: string): number {
    return (to === undefined ? this.#size : this.#rank(to)) - this.#rank(from);
  }

  #rank(key: string): number {
    const index = this.#chunkFor(key);
    let before = 0;
    for (let i = 0; i < index; i++) before += this.#chunks[i]?.keys.length ?? 0;
    return before + lowerBound(this.#chunks[index]?.keys ?? [], key);
  }

  /** The chunk a key is in, or would be put into: the last one that starts at or before it. */
  #chunkFor(key: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#chunks[middle]?.keys[0] as string) <= key) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}

const chunkEntries = 512;

/** The key after all keys that start with `prefix`, for use as the end of a range; undefined for the empty prefix. */
export function prefixEnd(prefix: string): string | undefined {
  for (let end = prefix.length; end > 0; end--) {
    const code = prefix.charCodeAt(end - 1);
    if (code < 0xffff) return prefix.slice(0, end - 1) + String.fromCharCode(code + 1);
  }
  return undefined;
}

function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
