// The frames of SPDY/3.1, which kubectl before 1.31 and every port-forward speak. Header blocks are left compressed here:
// their zlib stream belongs to the connection.
import { concat } from "./websocket-frames.ts";

/** What the other side sent is not SPDY/3.1, or more of it than we take. */
export class SpdyError extends Error {
  override readonly name = "SpdyError";
}

export type SpdyFrame =
  | {
      readonly type: "synStream";
      readonly streamId: number;
      readonly priority: number;
      readonly fin: boolean;
      readonly unidirectional: boolean;
      readonly block: Uint8Array;
    }
  | { readonly type: "synReply"; readonly streamId: number; readonly fin: boolean; readonly block: Uint8Array }
  | { readonly type: "headers"; readonly streamId: number; readonly fin: boolean; readonly block: Uint8Array }
  | { readonly type: "rstStream"; readonly streamId: number; readonly status: number }
  | { readonly type: "settings"; readonly values: ReadonlyMap<number, number> }
  | { readonly type: "ping"; readonly id: number }
  | { readonly type: "goAway"; readonly lastStreamId: number; readonly status: number }
  /** Of the whole connection when `streamId` is 0. */
  | { readonly type: "windowUpdate"; readonly streamId: number; readonly delta: number }
  | { readonly type: "data"; readonly streamId: number; readonly fin: boolean; readonly data: Uint8Array };

export const resetStatus = { protocolError: 1, invalidStream: 2, refusedStream: 3, cancel: 5 } as const;
export const initialWindowSetting = 7;

const types = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;
const [finFlag, unidirectionalFlag] = [0x01, 0x02];
/** Control frames hold headers of a few hundred bytes; upstream takes 16 MiB. */
const controlLimit = 64 * 1024;

export function encodeSpdyFrame(frame: SpdyFrame): Uint8Array {
  switch (frame.type) {
    case "data":
      return concat(words(frame.streamId, flagged(frame.fin ? finFlag : 0, frame.data.length)), frame.data);
    case "synStream": {
      const flags = (frame.fin ? finFlag : 0) | (frame.unidirectional ? unidirectionalFlag : 0);
      const head = words(frame.streamId, 0, frame.priority << 29).subarray(0, 10);
      return control("synStream", flags, concat(head, frame.block));
    }
    case "synReply":
    case "headers":
      return control(frame.type, frame.fin ? finFlag : 0, concat(words(frame.streamId), frame.block));
    case "rstStream":
      return control("rstStream", 0, words(frame.streamId, frame.status));
    case "settings":
      return control("settings", 0, words(frame.values.size, ...[...frame.values].flat()));
    case "ping":
      return control("ping", 0, words(frame.id));
    case "goAway":
      return control("goAway", 0, words(frame.lastStreamId, frame.status));
    case "windowUpdate":
      return control("windowUpdate", 0, words(frame.streamId, frame.delta));
  }
}

const control = (type: keyof typeof types, flags: number, payload: Uint8Array): Uint8Array =>
  concat(words(0x80030000 | types[type], flagged(flags, payload.length)), payload);

const flagged = (flags: number, length: number): number => (flags << 24) | length;

function words(...values: readonly number[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(values.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) view.setUint32(i * 4, value >>> 0);
  return bytes;
}

/** Cuts what arrives into frames. Data comes out as it arrives, in parts, so that no frame is ever held whole. */
export class SpdyFrameReader {
  #rest: Uint8Array = new Uint8Array();
  /** The data frame that is being read. */
  #open: { readonly streamId: number; readonly fin: boolean; left: number } | undefined;

  /** What is complete now. Throws SpdyError; nothing may be fed afterwards. */
  *feed(bytes: Uint8Array): Generator<SpdyFrame> {
    let data = this.#rest.length === 0 ? bytes : concat(this.#rest, bytes);
    for (;;) {
      if (this.#open) {
        const open = this.#open;
        const part = data.subarray(0, open.left);
        if (part.length === 0 && open.left > 0) break;
        data = data.subarray(part.length);
        open.left -= part.length;
        const isLast = open.left === 0;
        if (isLast) this.#open = undefined;
        yield { type: "data", streamId: open.streamId, fin: open.fin && isLast, data: part };
        continue;
      }
      if (data.length < 8) break;
      const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
      const [first, second] = [view.getUint32(0), view.getUint32(4)];
      const [flags, length] = [second >>> 24, second & 0xffffff];
      if (first < 0x80000000) {
        if (first === 0) throw new SpdyError("data for stream 0");
        this.#open = { streamId: first, fin: (flags & finFlag) !== 0, left: length };
        data = data.subarray(8);
        continue;
      }
      const version = (first >>> 16) & 0x7fff;
      if (version !== 3) throw new SpdyError(`version ${version} of SPDY is not 3`);
      if (length > controlLimit)
        throw new SpdyError(`a control frame of ${length} bytes is too large, the limit is ${controlLimit}`);
      if (data.length < 8 + length) break;
      const frame = controlFrame(first & 0xffff, flags, new Uint8Array(data.subarray(8, 8 + length)));
      if (frame) yield frame;
      data = data.subarray(8 + length);
    }
    this.#rest = new Uint8Array(data);
  }
}

/** Undefined for a type that is not known, which is to be ignored. */
function controlFrame(type: number, flags: number, payload: Uint8Array): SpdyFrame | undefined {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const need = (length: number) => {
    if (payload.length < length)
      throw new SpdyError(`a control frame of type ${type} has ${payload.length} bytes, it needs ${length}`);
  };
  const id = (at: number) => view.getUint32(at) & 0x7fffffff;
  const fin = (flags & finFlag) !== 0;
  switch (type) {
    case types.synStream:
      need(10);
      return {
        type: "synStream",
        streamId: id(0),
        priority: view.getUint8(8) >>> 5,
        fin,
        unidirectional: (flags & unidirectionalFlag) !== 0,
        block: payload.subarray(10),
      };
    case types.synReply:
    case types.headers:
      need(4);
      return {
        type: type === types.headers ? "headers" : "synReply",
        streamId: id(0),
        fin,
        block: payload.subarray(4),
      };
    case types.rstStream:
      need(8);
      return { type: "rstStream", streamId: id(0), status: view.getUint32(4) };
    case types.settings: {
      need(4);
      const count = view.getUint32(0);
      need(4 + count * 8);
      const values = new Map<number, number>();
      for (let i = 0; i < count; i++) values.set(view.getUint32(4 + i * 8) & 0xffffff, view.getUint32(8 + i * 8));
      return { type: "settings", values };
    }
    case types.ping:
      need(4);
      return { type: "ping", id: view.getUint32(0) };
    case types.goAway:
      need(8);
      return { type: "goAway", lastStreamId: id(0), status: view.getUint32(4) };
    case types.windowUpdate:
      need(8);
      return { type: "windowUpdate", streamId: id(0), delta: id(4) };
    default:
      return undefined;
  }
}

export type SpdyHeaders = Readonly<Record<string, string>>;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: false });
const headerLimit = 100;

export function encodeSpdyHeaders(headers: SpdyHeaders): Uint8Array {
  const entries = Object.entries(headers);
  const parts: Uint8Array[] = [words(entries.length)];
  for (const [name, value] of entries)
    for (const text of [encoder.encode(name.toLowerCase()), encoder.encode(value)])
      parts.push(words(text.length), text);
  return concat(...parts);
}

/** Names in lower case; of a name with several values, the first. */
export function decodeSpdyHeaders(bytes: Uint8Array): SpdyHeaders {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const number = () => {
    if (at + 4 > bytes.length) throw new SpdyError("a header block ends within a length");
    at += 4;
    return view.getUint32(at - 4);
  };
  const text = () => {
    const length = number();
    if (length > bytes.length - at) throw new SpdyError(`a header of ${length} bytes is longer than its block`);
    at += length;
    return decoder.decode(bytes.subarray(at - length, at));
  };
  const count = number();
  if (count > headerLimit) throw new SpdyError(`${count} headers are too many, the limit is ${headerLimit}`);
  const headers: Record<string, string> = Object.create(null);
  for (let i = 0; i < count; i++) {
    const name = text().toLowerCase();
    if (name === "") throw new SpdyError("a header has no name");
    headers[name] = text().split("\0")[0] ?? "";
  }
  return headers;
}
