import { blockSize, checksum, paddingOf, TarError, type TarHeader, type TarType } from "./tar.ts";

export interface ArchivedFile extends TarHeader {
  /** Read before the next entry is asked for, or skipped. */
  readonly content: AsyncIterable<Uint8Array>;
}

const types: Readonly<Record<string, TarType>> = {
  "\0": "file",
  "0": "file",
  "7": "file",
  "1": "hardlink",
  "2": "symlink",
  "5": "directory",
};
/** Longer names and attributes are not those of files. */
const textLimit = 1024 * 1024;

/** The entries of an archive as it comes. Throws TarError for what is none, and for one that is cut off. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ArchivedFile> {
  const reader = new BlockReader(source);
  let said: LongTexts = {};
  let global: LongTexts = {};
  try {
    for (;;) {
      const block = await reader.take(blockSize);
      if (!block || block.every((byte) => byte === 0)) return;
      const { flag, ...header } = headerIn(block);
      if ("KLxg".includes(flag)) {
        const texts = await longTexts(reader, flag, header.size);
        if (flag === "g") global = { ...global, ...texts };
        else said = { ...said, ...texts };
        continue;
      }
      const { name = header.name, linkName = header.linkName, size = header.size } = { ...global, ...said };
      said = {};
      const type = types[flag] ?? "other";
      const length = type === "file" || type === "other" ? size : 0;
      const content = reader.content(length);
      yield {
        ...header,
        name,
        linkName,
        size,
        type: type === "file" && name.endsWith("/") ? "directory" : type,
        content,
      };
      for await (const _ of content); // what nobody read
      await reader.skip(paddingOf(length));
    }
  } finally {
    await reader.close();
  }
}

interface LongTexts {
  readonly name?: string;
  readonly linkName?: string;
  readonly size?: number;
}

async function longTexts(reader: BlockReader, flag: string, size: number): Promise<LongTexts> {
  if (size > textLimit) throw new TarError(`a name or attribute of ${size} bytes`);
  const bytes = (await reader.take(size)) ?? new Uint8Array();
  await reader.skip(paddingOf(size));
  const text = new TextDecoder().decode(bytes);
  const plain = text.split("\0", 1)[0] ?? "";
  if (flag === "L") return { name: plain };
  if (flag === "K") return { linkName: plain };
  return paxTexts(bytes);
}

/** Records of `LENGTH KEY=VALUE\n`, where the length counts itself. */
function paxTexts(bytes: Uint8Array): LongTexts {
  const decoder = new TextDecoder();
  let texts: LongTexts = {};
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(32, at);
    const length = Number(decoder.decode(bytes.subarray(at, space)));
    if (space < 0 || !Number.isInteger(length) || length <= space - at || at + length > bytes.length)
      throw new TarError("a pax record has a wrong length");
    const record = decoder.decode(bytes.subarray(space + 1, at + length - 1));
    const equals = record.indexOf("=");
    const [key, value] = [record.slice(0, equals), record.slice(equals + 1)];
    if (key === "path") texts = { ...texts, name: value };
    if (key === "linkpath") texts = { ...texts, linkName: value };
    if (key === "size") texts = { ...texts, size: sizeIn(value) };
    at += length;
  }
  return texts;
}

function sizeIn(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new TarError(`${JSON.stringify(text)} is no size`);
  return Number(text);
}

function headerIn(block: Uint8Array): TarHeader & { readonly flag: string } {
  const decoder = new TextDecoder();
  const text = (at: number, length: number) => decoder.decode(block.subarray(at, at + length)).split("\0", 1)[0] ?? "";
  const number = (at: number, length: number): number => numberIn(block.subarray(at, at + length), text(at, length));
  if (number(148, 8) !== checksum(block)) throw new TarError("archive/tar: invalid tar header");
  const isUstar = text(257, 5) === "ustar";
  const prefix = isUstar && block[263] === 48 ? text(345, 155) : "";
  const flag = String.fromCharCode(block[156] ?? 0);
  return {
    flag,
    name: prefix === "" ? text(0, 100) : `${prefix}/${text(0, 100)}`,
    type: "other",
    mode: number(100, 8),
    uid: number(108, 8),
    gid: number(116, 8),
    size: number(124, 12),
    mtime: number(136, 12),
    linkName: text(157, 100),
  };
}

/** Octal digits, or a number of big bytes as GNU writes what does not fit. */
function numberIn(bytes: Uint8Array, text: string): number {
  if (((bytes[0] ?? 0) & 0x80) !== 0) {
    let value = (bytes[0] ?? 0) & 0x7f;
    for (const byte of bytes.subarray(1)) value = value * 256 + byte;
    if (!Number.isSafeInteger(value)) throw new TarError("archive/tar: invalid tar header");
    return value;
  }
  const digits = text.trim();
  if (!/^[0-7]*$/.test(digits)) throw new TarError("archive/tar: invalid tar header");
  return digits === "" ? 0 : Number.parseInt(digits, 8);
}

/** Bytes in pieces of the size that is asked for. */
class BlockReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Undefined at the end. Rejects with TarError if there is less than that. */
  async take(size: number): Promise<Uint8Array | undefined> {
    const parts: Uint8Array[] = [];
    let left = size;
    while (left > 0) {
      const part = await this.#some(left);
      if (!part && left === size) return undefined;
      if (!part) throw new TarError("unexpected EOF");
      parts.push(part);
      left -= part.length;
    }
    return Buffer.concat(parts);
  }

  async *content(size: number): AsyncGenerator<Uint8Array> {
    for (let left = size; left > 0; ) {
      const part = await this.#some(left);
      if (!part) throw new TarError("unexpected EOF");
      left -= part.length;
      yield part;
    }
  }

  async skip(size: number): Promise<void> {
    for await (const _ of this.content(size));
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  /** At most `most` bytes of what is there; undefined at the end. */
  async #some(most: number): Promise<Uint8Array | undefined> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#source.next();
      if (done) return undefined;
      this.#rest = value;
    }
    const part = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }
}
