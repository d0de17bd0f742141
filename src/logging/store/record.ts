// What a segment of the store is made of: records, one after another, each with its length and a checksum.
//
//   length of the payload u32 | crc32 of the payload u32 | payload
//   payload of a source: 1 u8 | number u32 | JSON
//   payload of a line: 2 u8 | flags u8 | number of its source u32 | seconds u32 | nanoseconds u32 | position f64 | text in UTF-8
//
// Numbers of sources count from 0 in each segment, so that a segment means the same when those before it are gone.
import { parseJson } from "#schema/json.ts";
import type { Instant } from "#schema/time.ts";
import type { LogSource } from "../log-line.ts";
import { crc32 } from "./crc32.ts";

/** A source, and in which epoch of its collector its positions count. */
export interface StoredSource extends LogSource {
  readonly epoch: string;
}

export interface StoredLine extends Instant {
  readonly source: number;
  readonly isStderr: boolean;
  readonly isCut: boolean;
  readonly position: number;
}

export const frameBytes = 8;
const sourceHead = 5;
const lineHead = 22;
const [sourceType, lineType] = [1, 2];
const [stderrFlag, cutFlag] = [1, 2];
/** Nothing longer is ever written: a larger length is damage. */
export const maxPayload = 4 * 1024 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeSource(number: number, source: StoredSource): Uint8Array {
  const text = encoder.encode(JSON.stringify(source));
  const record = new Uint8Array(frameBytes + sourceHead + text.length);
  const view = new DataView(record.buffer);
  view.setUint8(frameBytes, sourceType);
  view.setUint32(frameBytes + 1, number);
  record.set(text, frameBytes + sourceHead);
  return sealed(record, view);
}

export function encodeLine(line: StoredLine, text: string): Uint8Array {
  const bytes = encoder.encode(text);
  const record = new Uint8Array(frameBytes + lineHead + bytes.length);
  const view = new DataView(record.buffer);
  view.setUint8(frameBytes, lineType);
  view.setUint8(frameBytes + 1, (line.isStderr ? stderrFlag : 0) | (line.isCut ? cutFlag : 0));
  view.setUint32(frameBytes + 2, line.source);
  view.setUint32(frameBytes + 6, line.seconds);
  view.setUint32(frameBytes + 10, line.nanos);
  view.setFloat64(frameBytes + 14, line.position);
  record.set(bytes, frameBytes + lineHead);
  return sealed(record, view);
}

function sealed(record: Uint8Array, view: DataView): Uint8Array {
  view.setUint32(0, record.length - frameBytes);
  view.setUint32(4, crc32(record.subarray(frameBytes)));
  return record;
}

export type SegmentRecord =
  | { readonly type: "source"; readonly end: number; readonly number: number; readonly source: StoredSource }
  | { readonly type: "line"; readonly end: number; readonly line: StoredLine; readonly text: () => string };

/** The record that begins there; undefined at the end, and where something else stands. `end` is where the next one begins. */
export function decodeRecord(bytes: Uint8Array, at: number): SegmentRecord | undefined {
  if (bytes.length - at < frameBytes + 1) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(at);
  const start = at + frameBytes;
  if (length > maxPayload || length > bytes.length - start) return undefined;
  const payload = bytes.subarray(start, start + length);
  if (crc32(payload) !== view.getUint32(at + 4)) return undefined;
  const end = start + length;
  const type = payload[0];
  if (type === sourceType && length >= sourceHead) {
    const source = parseJson(decoder.decode(payload.subarray(sourceHead))).value as StoredSource; // we wrote it: the sum is right
    return { type: "source", end, number: view.getUint32(start + 1), source };
  }
  if (type !== lineType || length < lineHead) return undefined;
  const flags = payload[1] ?? 0;
  return {
    type: "line",
    end,
    line: {
      isStderr: (flags & stderrFlag) !== 0,
      isCut: (flags & cutFlag) !== 0,
      source: view.getUint32(start + 2),
      seconds: view.getUint32(start + 6),
      nanos: view.getUint32(start + 10),
      position: view.getFloat64(start + 14),
    },
    text: () => decoder.decode(payload.subarray(lineHead)),
  };
}
