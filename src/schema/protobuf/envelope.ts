// What says of a protobuf message which kind it is: four bytes of magic and Kubernetes' `runtime.Unknown`, with the message inside.
import { ProtobufWriter } from "#base/protobuf-writer.ts";
import { DecodeError } from "../json.ts";
import type { AnyStruct } from "../struct.ts";
import { located } from "./codec.ts";
import { Malformed } from "./malformed.ts";
import { messageOf } from "./message.ts";
import { Reader } from "./reader.ts";

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

/** What stands before and after a message of `size` bytes. */
export function envelopeAround(type: TypeName, size: number): { readonly head: Uint8Array; readonly tail: Uint8Array } {
  const writer = new ProtobufWriter();
  writeHead(writer, type, size);
  return { head: writer.finish(), tail: noContentType };
}

/** Content encoding and content type: none. */
const noContentType = Uint8Array.of(0x1a, 0, 0x22, 0);

function sealed(type: TypeName, write: (writer: ProtobufWriter) => void): Uint8Array<ArrayBuffer> {
  const writer = new ProtobufWriter();
  writer.raw(noContentType);
  write(writer);
  writeHead(writer, type, writer.length - noContentType.length);
  return writer.finish();
}

function writeHead(writer: ProtobufWriter, { apiVersion, kind }: TypeName, size: number): void {
  writer.uint32(size);
  writer.byte(0x12);
  const beforeType = writer.length;
  writer.string(kind);
  writer.byte(0x12);
  writer.string(apiVersion);
  writer.byte(0x0a);
  writer.uint32(writer.length - beforeType);
  writer.byte(0x0a);
  writer.raw(magic);
}

/** Throws DecodeError for bytes that are no envelope. */
export function open(bytes: Uint8Array): Envelope {
  return located(() => {
    if (!isEnvelope(bytes))
      throw new DecodeError(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        undefined,
        { syntax: "protobuf" },
      );
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
