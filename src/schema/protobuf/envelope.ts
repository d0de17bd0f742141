// What says of a protobuf message which kind it is: four bytes of magic and Kubernetes' `runtime.Unknown`, with the message inside.
import type { AnyStruct } from "../struct.ts";
import { located } from "./codec.ts";
import { Malformed } from "./malformed.ts";
import { messageOf } from "./message.ts";
import { Reader } from "./reader.ts";
import { Writer } from "./writer.ts";

export interface TypeName {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface Envelope extends TypeName {
  /** The message: a view of the bytes it came in. */
  readonly message: Uint8Array;
}

const magic = Uint8Array.of(0x6b, 0x38, 0x73, 0x00); // "k8s" and a zero

export const isEnvelope = (bytes: Uint8Array): boolean => magic.every((byte, i) => bytes[i] === byte);

/** The object in its envelope, ready to be sent or stored. */
export function seal(type: TypeName, struct: AnyStruct, value: object): Uint8Array<ArrayBuffer> {
  return sealed(type, (writer) => messageOf(struct).write(writer, value));
}

/** A message that is encoded already, in its envelope. */
export const sealMessage = (type: TypeName, message: Uint8Array): Uint8Array<ArrayBuffer> =>
  sealed(type, (writer) => writer.raw(message));

function sealed({ apiVersion, kind }: TypeName, write: (writer: Writer) => void): Uint8Array<ArrayBuffer> {
  const writer = new Writer();
  for (const unused of [0x22, 0x1a]) {
    writer.byte(0); // content type and content encoding: none
    writer.byte(unused);
  }
  const beforeMessage = writer.length;
  write(writer);
  writer.uint32(writer.length - beforeMessage);
  writer.byte(0x12);
  const beforeType = writer.length;
  writer.string(kind);
  writer.byte(0x12);
  writer.string(apiVersion);
  writer.byte(0x0a);
  writer.uint32(writer.length - beforeType);
  writer.byte(0x0a);
  writer.raw(magic);
  return writer.finish();
}

/** Throws DecodeError for bytes that are no envelope. */
export function open(bytes: Uint8Array): Envelope {
  return located(() => {
    if (!isEnvelope(bytes)) throw new Malformed("the bytes do not begin with the magic of Kubernetes' protobuf");
    const reader = new Reader(bytes);
    reader.at = magic.length;
    const end = bytes.length;
    const type = { apiVersion: "", kind: "" };
    let message: Uint8Array = new Uint8Array();
    let encoding = "";
    for (let tag = reader.tag(end); tag !== 0; tag = reader.tag(end)) {
      if (tag === 0x0a) readType(reader, reader.end(end), type);
      else if (tag === 0x12) message = reader.raw(end);
      else if (tag === 0x1a) encoding = reader.string(end);
      else if (tag === 0x22) reader.string(end);
      else reader.skip(tag, end, 4);
    }
    if (encoding !== "") throw new Malformed(`the content encoding ${JSON.stringify(encoding)} is not known`);
    return { ...type, message };
  });
}

function readType(reader: Reader, end: number, type: { apiVersion: string; kind: string }): void {
  for (let tag = reader.tag(end); tag !== 0; tag = reader.tag(end)) {
    if (tag === 0x0a) type.apiVersion = reader.string(end);
    else if (tag === 0x12) type.kind = reader.string(end);
    else reader.skip(tag, end, 2);
  }
}
