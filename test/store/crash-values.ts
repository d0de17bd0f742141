// What the crash test writes: values that say which write they are from, and can be checked byte by byte.

/** Little history, so that compaction, too, is interrupted. */
export const crashStoreOptions = { keepMs: 100, keepRevisions: 20_000 } as const;

export const keyOf = (owner: number | string, n: number): string => `/registry/${owner}/${n}`;

export function valueFor(key: string, write: string): Uint8Array {
  const head = `${key} ${write} `;
  const seed = [...head].reduce((sum, c) => (Math.imul(sum, 31) + c.charCodeAt(0)) >>> 0, 7);
  const bytes = Buffer.alloc(head.length + (seed % 4_000), head);
  for (let i = head.length; i < bytes.length; i++) bytes[i] = (seed + Math.imul(i, 2_654_435_761)) >>> 11;
  return bytes;
}

/** The write a value is from; throws if it is not exactly what that write wrote. */
export function writeOf(key: string, value: Uint8Array): string {
  const bytes = Buffer.from(value);
  const write = bytes.toString("latin1", 0, 200).split(" ")[1] ?? "";
  if (!bytes.equals(valueFor(key, write))) throw new Error(`${key}: half a value, of write ${write}`);
  return write;
}
