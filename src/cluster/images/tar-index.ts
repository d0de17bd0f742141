// What is in a tar archive, and where: nothing is unpacked. Reads ustar, with the long names of pax and of GNU.
import type { FileHandle } from "node:fs/promises";
import { posix } from "node:path";

export interface TarPlace {
  readonly offset: number;
  readonly size: number;
  /** Where a link leads, from the root of the archive. */
  readonly link?: string;
}

const block = 512;
const mostEntries = 200_000;
const mostHeadBytes = 1 << 20;

/** By names without a leading `./`; folders are left out. Throws an error that says what is wrong with it. */
export async function tarIndex(file: FileHandle): Promise<ReadonlyMap<string, TarPlace>> {
  const { size: fileSize } = await file.stat();
  const places = new Map<string, TarPlace>();
  const head = Buffer.alloc(block);
  let overrides: LongNames = {};
  for (let at = 0; at + block <= fileSize; ) {
    await readExactly(file, head, at);
    if (head.every((byte) => byte === 0)) break;
    if (!isHead(head)) throw new Error(at === 0 ? "it is no tar archive" : `there is no entry at byte ${at}`);
    const size = overrides.size ?? numberIn(head, 124, 12);
    const offset = at + block;
    if (!(offset + size <= fileSize)) throw new Error(`it is cut off: an entry of ${size} bytes begins at byte ${at}`);
    const type = String.fromCharCode(head[156] ?? 0);
    if ("xgLK".includes(type)) {
      if (size > mostHeadBytes) throw new Error(`the head of the entry at byte ${at} has ${size} bytes`);
      const content = Buffer.alloc(size);
      await readExactly(file, content, offset);
      if (type !== "g") overrides = { ...overrides, ...longNames(type, content) };
    } else {
      const name = clean(overrides.path ?? nameIn(head));
      const link = overrides.link ?? textIn(head, 157, 100);
      if (type === "2") places.set(name, { offset, size: 0, link: clean(posix.join(posix.dirname(name), link)) });
      else if (type === "1") places.set(name, { offset, size: 0, link: clean(link) });
      else if (type === "0" || type === "\0" || type === "7") places.set(name, { offset, size });
      overrides = {};
      if (places.size > mostEntries) throw new Error(`it has more than ${mostEntries} entries`);
    }
    at = offset + Math.ceil(size / block) * block;
  }
  return places;
}

interface LongNames {
  readonly path?: string;
  readonly link?: string;
  readonly size?: number;
}

export async function readExactly(file: FileHandle, into: Buffer, at: number): Promise<void> {
  for (let done = 0; done < into.length; ) {
    const { bytesRead } = await file.read(into, done, into.length - done, at + done);
    if (bytesRead === 0) throw new Error(`it is cut off at byte ${at + done}`);
    done += bytesRead;
  }
}

/** Its sum is made as if the field of the sum were blanks. */
function isHead(head: Buffer): boolean {
  let sum = 0;
  for (let i = 0; i < block; i++) sum += i >= 148 && i < 156 ? 32 : (head[i] ?? 0);
  return numberIn(head, 148, 8) === sum;
}

/** In octal digits; or, for numbers that do not fit, in binary behind a set bit. */
function numberIn(head: Buffer, at: number, length: number): number {
  const field = head.subarray(at, at + length);
  if (((field[0] ?? 0) & 0x80) === 0) {
    const digits = textIn(head, at, length).trim();
    return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || "0", 8) : Number.NaN;
  }
  const value = field.subarray(length - 8).readBigUInt64BE();
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : Number.MAX_SAFE_INTEGER;
}

function textIn(bytes: Buffer, at: number, length: number): string {
  const field = bytes.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? length : end);
}

function nameIn(head: Buffer): string {
  const prefix = head.toString("latin1", 257, 263) === "ustar\0" ? textIn(head, 345, 155) : "";
  const name = textIn(head, 0, 100);
  return prefix ? `${prefix}/${name}` : name;
}

function longNames(type: string, content: Buffer): LongNames {
  if (type === "L") return { path: textIn(content, 0, content.length) };
  if (type === "K") return { link: textIn(content, 0, content.length) };
  const records = paxRecords(content);
  const size = Number(records.get("size"));
  return {
    ...(records.has("path") && { path: records.get("path") ?? "" }),
    ...(records.has("linkpath") && { link: records.get("linkpath") ?? "" }),
    ...(records.has("size") && Number.isSafeInteger(size) && size >= 0 && { size }),
  };
}

/** `30 path=some/long/name\n`, where the number counts the whole line. */
function paxRecords(content: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length; ) {
    const length = Number.parseInt(content.toString("latin1", at, at + 20), 10);
    if (!(length > 3) || at + length > content.length) break;
    const line = content.toString("utf8", at, at + length - 1);
    const equals = line.indexOf("=");
    records.set(line.slice(line.indexOf(" ") + 1, equals), line.slice(equals + 1));
    at += length;
  }
  return records;
}

const clean = (name: string): string => posix.normalize(name).replace(/^(?:\.?\/)+/, "");
