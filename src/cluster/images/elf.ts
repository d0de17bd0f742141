// What a program needs to run, read from its own file: the loader it names, and the libraries it and they name in turn.

export interface Elf {
  /** The kind of processor, as a number of the format's. */
  readonly machine: number;
  /** The program that loads it; undefined for what is linked statically, and for libraries. */
  readonly interpreter: string | undefined;
  /** Names of libraries. */
  readonly needed: readonly string[];
}

const headBytes = 64;
const segmentBytes = 56;
const entryBytes = 16;
const segment = { load: 1, dynamic: 2, interpreter: 3 };
const tag = { end: 0n, needed: 1n, strings: 5n };

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: bigint;
  readonly size: number;
}

/** Undefined for what is no program or library of 64 bits. Throws RangeError for one that is cut off. */
export function readElf(bytes: Buffer): Elf | undefined {
  const isElf = bytes.length >= headBytes && bytes.toString("latin1", 0, 4) === "\x7fELF";
  if (!isElf || bytes[4] !== 2 || bytes[5] !== 1) return undefined;
  const segments = segmentsOf(bytes);
  const interpreter = segments.find(({ type }) => type === segment.interpreter);
  const dynamic = segments.find(({ type }) => type === segment.dynamic);
  return {
    machine: bytes.readUInt16LE(18),
    interpreter: interpreter && textAt(bytes, interpreter.offset),
    needed: dynamic ? neededBy(bytes, dynamic, segments) : [],
  };
}

function segmentsOf(bytes: Buffer): readonly Segment[] {
  const start = Number(bytes.readBigUInt64LE(32));
  return Array.from({ length: bytes.readUInt16LE(56) }, (_, i) => {
    const at = start + i * segmentBytes;
    return {
      type: bytes.readUInt32LE(at),
      offset: Number(bytes.readBigUInt64LE(at + 8)),
      address: bytes.readBigUInt64LE(at + 16),
      size: Number(bytes.readBigUInt64LE(at + 32)),
    };
  });
}

function neededBy(bytes: Buffer, dynamic: Segment, segments: readonly Segment[]): readonly string[] {
  const entries: { readonly tag: bigint; readonly value: bigint }[] = [];
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += entryBytes) {
    const entry = { tag: bytes.readBigInt64LE(at), value: bytes.readBigUInt64LE(at + 8) };
    if (entry.tag === tag.end) break;
    entries.push(entry);
  }
  const strings = entries.find((entry) => entry.tag === tag.strings);
  // The table of strings is named by where it will be in memory.
  const home = segments.find(
    ({ type, address, size }) =>
      type === segment.load && strings && strings.value >= address && strings.value < address + BigInt(size),
  );
  if (!strings || !home) return [];
  const table = home.offset + Number(strings.value - home.address);
  return entries.filter((entry) => entry.tag === tag.needed).map(({ value }) => textAt(bytes, table + Number(value)));
}

function textAt(bytes: Buffer, at: number): string {
  const end = bytes.indexOf(0, at);
  if (at > bytes.length || end < 0) throw new RangeError("a text in it has no end");
  return bytes.toString("utf8", at, end);
}
