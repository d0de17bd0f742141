// From the bytes of a request to something that can be decoded once it is known what it should be. A large body is parsed before
// anything else is done with it, so that parsing and decoding take a turn of the event loop each.
import { turn } from "#base/breathe.ts";
import type { Soon } from "#base/soon.ts";
import { type Decoded, decodeParsed } from "#schema/decode.ts";
import { DecodeError, decodeUtf8, parseJson } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import { type AnyStruct, structOf } from "#schema/struct.ts";
import { exactValue } from "#schema/structural/exact-integers.ts";
import type { PatchType, RequestBody } from "#wire/api-request.ts";
import type { Codec } from "#wire/codec.ts";
import { jsonCodec } from "#wire/json.ts";
import { bodyType } from "#wire/negotiate.ts";
import { protobufCodec } from "#wire/protobuf.ts";
import { nothingConsumed, tooLarge, unsupportedMediaType } from "#wire/status.ts";
import { parseYaml } from "#wire/yaml/read.ts";
import { decodeYaml, yamlCodec } from "#wire/yaml.ts";

/** What is larger is worked on in several turns of the event loop. */
export const largeBytes = 64 * 1024;

/**
 * The most fields, keys and list items of a body. The largest objects that people have, definitions of custom resources, have a third
 * of it, and working through as many takes up to 50 ms at each stage.
 */
export const mostValues = 100_000;

/**
 * The most bytes of YAML. To read it takes ten times as long as to read JSON, and cannot be interrupted. Clients that apply or create
 * large objects send JSON, also under the name of YAML: that is read as what it is.
 */
const mostYaml = 256 * 1024;

export const patchTypes: Readonly<Record<string, PatchType>> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
  "application/apply-patch+yaml": "apply",
};
const codecs = [jsonCodec, yamlCodec, protobufCodec];
const mediaTypes = codecs.map(({ mediaType }) => mediaType);

/** Undefined of no bytes. Throws ApiError 415 for a type that nobody here reads. */
export function requestBody(bytes: Uint8Array, contentType: string, method: string): Soon<RequestBody | undefined> {
  const patch = method === "PATCH" ? patchFormat(contentType) : undefined;
  if (bytes.length === 0) return undefined;
  const format = patch ?? objectFormat(contentType);
  return bytes.length > largeBytes ? largeBody(bytes, format) : new Body(bytes, format);
}

interface Format {
  readonly codec: Codec;
  readonly patchType?: PatchType;
}

function patchFormat(contentType: string): Format {
  const patchType = patchTypes[bodyType(contentType, Object.keys(patchTypes)) ?? ""];
  if (!patchType || contentType === "") throw nothingConsumed();
  return { codec: patchType === "apply" ? yamlCodec : jsonCodec, patchType };
}

function objectFormat(contentType: string): Format {
  const codec = codecs.find(({ mediaType }) => mediaType === bodyType(contentType, mediaTypes));
  if (!codec) throw unsupportedMediaType(mediaTypes);
  return { codec };
}

/** A text that has been read as JSON or YAML: the value in it, and that value as an object. */
interface Parsed {
  /** With its numbers as objects of the kind have them. */
  value(kind: AnyKind | undefined): unknown;
  decode(subject: AnyKind | AnyStruct): Decoded;
}

class Body implements RequestBody {
  readonly bytes: Uint8Array;
  readonly patchType?: PatchType;
  readonly isLarge: boolean;
  readonly #format: Format;
  /** Given away with the first call, because it may be changed from then on. */
  #parsed: (() => Parsed) | undefined;

  constructor(bytes: Uint8Array, format: Format, parsed?: () => Parsed) {
    this.bytes = bytes;
    if (format.patchType !== undefined) this.patchType = format.patchType;
    this.#format = format;
    this.#parsed = parsed;
    this.isLarge = parsed !== undefined;
  }

  decode(subject: AnyKind | AnyStruct): Decoded {
    const { codec } = this.#format;
    if (!codec.supports(structOf(subject))) throw unsupportedMediaType([jsonCodec.mediaType, yamlCodec.mediaType]);
    return codec === protobufCodec ? codec.decode(subject, this.bytes, mostValues) : this.#parse().decode(subject);
  }

  value(kind?: AnyKind): unknown {
    return this.#parse().value(kind);
  }

  #parse(): Parsed {
    const parsed = this.#parsed ?? (() => parse(this.bytes, this.#format));
    this.#parsed = undefined;
    return parsed();
  }
}

async function largeBody(bytes: Uint8Array, format: Format): Promise<RequestBody> {
  const parsed = format.codec === protobufCodec ? undefined : attempt(() => parse(bytes, format));
  await turn();
  return new Body(bytes, format, parsed ?? (() => parse(bytes, format)));
}

function parse(bytes: Uint8Array, { codec, patchType }: Format): Parsed {
  const text = decodeUtf8(bytes);
  const isJson = codec === jsonCodec || (bytes.length > mostYaml && text.startsWith("{"));
  if (!isJson) {
    if (bytes.length > mostYaml) throw tooLarge(mostYaml);
    const document = parseYaml(text, mostValues);
    return {
      value: (kind) => (kind?.model.keepsInt64 ? document.exactValue() : document.value),
      decode: (subject) => decodeYaml(subject, document),
    };
  }
  const json = parseJson(text, { keepsWritten: patchType === undefined, mostValues });
  return {
    value: (kind) => (kind?.model.keepsInt64 ? exactValue(text, json.value) : json.value),
    decode: (subject) => decodeParsed(subject, text, json),
  };
}

/** Does the work now, and answers or fails with what came of it when asked: refusals are worded by who asks. */
function attempt<T>(work: () => T): () => T {
  try {
    const result = work();
    return () => result;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return () => {
      throw error;
    };
  }
}
