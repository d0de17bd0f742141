// `meta/v1.WatchEvent`: its object is not JSON inside, as other raw extensions are, but an object in its envelope.
import { ProtobufWriter } from "#base/protobuf-writer.ts";
import { located } from "./codec.ts";
import { Reader } from "./reader.ts";

export interface RawEvent {
  readonly type: string;
  /** An envelope. */
  readonly object: Uint8Array;
}

export function encodeWatchEvent(type: string, sealed: Uint8Array): Uint8Array<ArrayBuffer> {
  const writer = new ProtobufWriter();
  writer.raw(sealed);
  writer.uint32(sealed.length);
  writer.byte(0x0a);
  writer.uint32(writer.length);
  writer.byte(0x12);
  writer.string(type);
  writer.byte(0x0a);
  return writer.finish();
}

/** Throws DecodeError. */
export function decodeWatchEvent(bytes: Uint8Array): RawEvent {
  return located(() => {
    const reader = new Reader(bytes);
    const end = bytes.length;
    let type = "";
    let object: Uint8Array = new Uint8Array();
    for (let tag = reader.tag(end); tag !== 0; tag = reader.tag(end)) {
      if (tag === 0x0a) type = reader.string(end);
      else if (tag === 0x12) object = readRaw(reader, reader.end(end)) ?? object;
      else reader.skip(tag, end, 2);
    }
    return { type, object };
  });
}

function readRaw(reader: Reader, end: number): Uint8Array | undefined {
  let raw: Uint8Array | undefined;
  for (let tag = reader.tag(end); tag !== 0; tag = reader.tag(end)) {
    if (tag === 0x0a) raw = reader.raw(end);
    else reader.skip(tag, end, 1);
  }
  return raw;
}
