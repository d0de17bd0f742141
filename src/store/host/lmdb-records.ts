// How changes and keys lie on disk. Every record carries its own checksum, for LMDB's pages carry none.
import { crc32 } from "node:zlib";
import { Damaged, type Revision } from "../engine.ts";

/** A key as the index knows it: where its value is, not the value. */
export interface IndexEntry {
  readonly created: Revision;
  readonly modified: Revision;
  /** When the key is to be deleted, by the wall clock, and how long it was meant to live from its write. */
  readonly expiry: Expiry | undefined;
}

export interface Expiry {
  readonly at: number;
  readonly ttlMs: number;
}

/** One change, under its revision in the log. */
export interface LogRecord {
  readonly type: "put" | "delete";
  readonly key: string;
  readonly revision: Revision;
  readonly created: Revision;
  /** The revision that wrote what the key held before; 0 if it was absent. */
  readonly previous: Revision;
  readonly expiry: Expiry | undefined;
  readonly value: Uint8Array;
}

/** What a key is once a change has happened to it; undefined if it is absent. */
export function afterwards({ type, created, revision, expiry }: LogRecord): IndexEntry | undefined {
  if (type === "delete") return undefined;
  return { created, modified: revision, expiry };
}

// Log record: crc32 u32 | type u8 | 0 u8 | key bytes u16 | revision, created, previous, expiry at, ttl ms: f64 each | key | value
const logHeadBytes = 48;
// Key record: crc32 u32 | 0 u32 | created, modified, expiry at, ttl ms: f64 each. The checksum also covers the key.
const keyRecordBytes = 40;
const putMark = 1;
const deleteMark = 2;

export function encodeLog(record: LogRecord, allocate: (bytes: number) => Buffer = Buffer.allocUnsafe): Buffer {
  const { key, value, expiry } = record;
  const keyBytes = Buffer.byteLength(key);
  const bytes = allocate(logHeadBytes + keyBytes + value.length);
  bytes[4] = record.type === "put" ? putMark : deleteMark;
  bytes[5] = 0;
  bytes.writeUInt16LE(keyBytes, 6);
  bytes.writeDoubleLE(record.revision, 8);
  bytes.writeDoubleLE(record.created, 16);
  bytes.writeDoubleLE(record.previous, 24);
  bytes.writeDoubleLE(expiry?.at ?? 0, 32);
  bytes.writeDoubleLE(expiry?.ttlMs ?? 0, 40);
  bytes.write(key, logHeadBytes);
  bytes.set(value, logHeadBytes + keyBytes);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

/** Throws Damaged if these are not the bytes that were written under that revision. */
export function decodeLog(bytes: Buffer, revision: Revision): LogRecord {
  const type = bytes[4];
  if (
    bytes.length < logHeadBytes ||
    bytes.readUInt32LE(0) !== crc32(bytes.subarray(4)) ||
    bytes.readDoubleLE(8) !== revision ||
    (type !== putMark && type !== deleteMark)
  )
    throw new Damaged(`the record of revision ${revision} does not have the checksum it was written with`);
  const keyEnd = logHeadBytes + bytes.readUInt16LE(6);
  return {
    type: type === putMark ? "put" : "delete",
    key: bytes.toString("utf8", logHeadBytes, keyEnd),
    revision,
    created: bytes.readDoubleLE(16),
    previous: bytes.readDoubleLE(24),
    expiry: expiryAt(bytes, 32),
    value: bytes.subarray(keyEnd),
  };
}

export function encodeIndexed(key: Buffer, { created, modified, expiry }: IndexEntry): Buffer {
  const bytes = Buffer.allocUnsafe(keyRecordBytes);
  bytes.writeUInt32LE(0, 4);
  bytes.writeDoubleLE(created, 8);
  bytes.writeDoubleLE(modified, 16);
  bytes.writeDoubleLE(expiry?.at ?? 0, 24);
  bytes.writeDoubleLE(expiry?.ttlMs ?? 0, 32);
  bytes.writeUInt32LE(crc32(bytes.subarray(4), crc32(key)), 0);
  return bytes;
}

export function decodeIndexed(key: Buffer, bytes: Buffer): IndexEntry {
  if (bytes.length !== keyRecordBytes || bytes.readUInt32LE(0) !== crc32(bytes.subarray(4), crc32(key)))
    throw new Damaged(`the record of key ${key.toString()} does not have the checksum it was written with`);
  return { created: bytes.readDoubleLE(8), modified: bytes.readDoubleLE(16), expiry: expiryAt(bytes, 24) };
}

/** A number that LMDB sorts as numbers sort. */
export function encodeRevision(revision: Revision, into = Buffer.allocUnsafe(8)): Buffer {
  into.writeUInt32BE(Math.floor(revision / 2 ** 32), 0);
  into.writeUInt32BE(revision % 2 ** 32, 4);
  return into;
}

export const decodeRevision = (bytes: Buffer): Revision => bytes.readUInt32BE(0) * 2 ** 32 + bytes.readUInt32BE(4);

function expiryAt(bytes: Buffer, offset: number): Expiry | undefined {
  const at = bytes.readDoubleLE(offset);
  return at === 0 ? undefined : { at, ttlMs: bytes.readDoubleLE(offset + 8) };
}
