// Objects to protobuf and back. What is encoded must have been decoded or made by us: it is of its struct's type.
//
// An object comes back as it went in, but for what Go's structs cannot tell apart: in fields that are no pointers zero, "" and empty
// lists are absent, unless JSON always has the field, which then comes back even if it was not sent.
import { ProtobufWriter } from "#base/protobuf-writer.ts";
import { DecodeError } from "../json.ts";
import type { AnyStruct } from "../struct.ts";
import { Malformed } from "./malformed.ts";
import { messageOf } from "./message.ts";
import { Reader } from "./reader.ts";

/** The message alone, which does not say what it is. */
export function encodeMessage(struct: AnyStruct, value: object): Uint8Array<ArrayBuffer> {
  const writer = new ProtobufWriter();
  messageOf(struct).write(writer, value);
  return writer.finish();
}

/** Throws DecodeError with the path of the field that is at fault, and ApiError 413 if there are more than `mostValues` fields and items. */
export function decodeMessage(struct: AnyStruct, bytes: Uint8Array, mostValues?: number): Record<string, any> {
  const message = messageOf(struct);
  const object = {};
  located(() => message.read(new Reader(bytes, mostValues), bytes.length, object));
  message.complete(object);
  return object;
}

/** Runs a read, and turns what is malformed into the error callers know. */
export function located<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    const { path, message, cause } = error;
    const options = cause === undefined ? undefined : { cause };
    throw path === ""
      ? new DecodeError(`protobuf: ${message}`, undefined, options)
      : new DecodeError(`${path}: protobuf: ${message}`, path, options);
  }
}
