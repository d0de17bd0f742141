// From the bytes of a request to something that can be decoded once it is known what it should be. A large body is parsed before
// anything else is done with it, so that parsing and decoding take a turn of the event loop each.
import { turn } from "#base/breathe.ts";
import type { Soon } from "#base/soon.ts";
import { type DecodeResult, decodeParsed } from "#schema/decode.ts";
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
import type { YamlReader } from "#wire/yaml/reader.ts";
import { decodeYaml, yamlCodec } from "#wire/yaml.ts";

/** What is larger is worked on in several turns of the event loop. */
export const largeBytes = 16 * 1024;

/**
 * The most fields, keys and list items of a body. The largest objects that people have, definitions of custom resources, have half of
 * it, and working through as many takes up to 40 ms at each stage.
 */
export const mostValues = 75_000;

/** Larger YAML is read in another thread: it takes ten times as long as JSON, and cannot be interrupted. */
const largeYaml = 64 * 1024;

export const patchTypes: Readonly<Record<string, PatchType>> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
  "application/apply-patch+yaml": "apply",
};
/** Those that go by the JSON alone: a custom resource knows nothing of how its parts would be merged. */
export const plainPatchTypes: readonly string[] = Object.keys(patchTypes).filter(
  (name) => patchTypes[name] !== "strategic",
);
const codecs = [jsonCodec, yamlCodec, protobufCodec];
const mediaTypes = codecs.map(({ mediaType }) => mediaType);

/**
 * Undefined for an empty body. Throws ApiError 415 for an unsupported media type, and 413 for large YAML without a reader for
 * it.
 */
export function requestBody(
  bytes: Uint8Array,
  contentType: string,
  method: string,
  readYaml?: YamlReader,
): Soon<RequestBody | undefined> {
  const patch = method === "PATCH" ? patchFormat(contentType) : undefined;
  if (bytes.length === 0) return undefined;
  const format = patch ?? objectFormat(contentType);
  return bytes.length > largeBytes || mayGrow(bytes, format)
    ? largeBody(bytes, format, readYaml)
    : new Body(bytes, format);
}

/** Whether a few bytes may stand for many values: with aliases in YAML, and by what a JSON patch copies. */
const mayGrow = (bytes: Uint8Array, { codec, patchType }: Format): boolean =>
  patchType === "json" ? /copy|\\u/.test(latin1.decode(bytes)) : codec === yamlCodec && bytes.includes(asterisk);
const asterisk = 0x2a;
const latin1 = new TextDecoder("latin1");

interface Format {
  readonly codec: Codec;
  readonly patchType?: PatchType;
}

const patchTypeOf = (contentType: string): PatchType | undefined =>
  contentType === "" ? undefined : patchTypes[bodyType(contentType, Object.keys(patchTypes)) ?? ""];

export const isPatchType = (contentType: string): boolean => patchTypeOf(contentType) !== undefined;

function patchFormat(contentType: string): Format {
  const patchType = patchTypeOf(contentType);
  if (!patchType) throw nothingConsumed();
  return { codec: patchType === "apply" ? yamlCodec : jsonCodec, patchType };
}

function objectFormat(contentType: string): Format {
  const codec = codecs.find(({ mediaType }) => mediaType === bodyType(contentType, mediaTypes));
  if (!codec) throw unsupportedMediaType(mediaTypes);
  return { codec };
}

/** A text that has been read as JSON or YAML: the value in it, and that value as an object. */
interface ParsedBody {
  /** With its numbers as objects of the kind have them. */
  value(kind: AnyKind | undefined): unknown;
  decode(subject: AnyKind | AnyStruct): DecodeResult;
}

class Body implements RequestBody {
  readonly bytes: Uint8Array;
  readonly patchType?: PatchType;
  readonly isLarge: boolean;
  readonly #format: Format;
  /** Given away with the first call, because it may be changed from then on. */
  #parsed: (() => ParsedBody) | undefined;

  constructor(bytes: Uint8Array, format: Format, parsed?: () => ParsedBody) {
    this.bytes = bytes;
    if (format.patchType !== undefined) this.patchType = format.patchType;
    this.#format = format;
    this.#parsed = parsed;
    this.isLarge = parsed !== undefined;
  }

  decode(subject: AnyKind | AnyStruct): DecodeResult {
    const { codec } = this.#format;
    if (!codec.supports(structOf(subject))) throw unsupportedMediaType([jsonCodec.mediaType, yamlCodec.mediaType]);
    return codec === protobufCodec ? codec.decode(subject, this.bytes, mostValues) : this.#parse().decode(subject);
  }

  value(kind?: AnyKind): unknown {
    return this.#parse().value(kind);
  }

  #parse(): ParsedBody {
    const parsed = this.#parsed ?? (() => parse(this.bytes, this.#format));
    this.#parsed = undefined;
    return parsed();
  }
}

async function largeBody(bytes: Uint8Array, format: Format, readYaml?: YamlReader): Promise<RequestBody> {
  const parsed = format.codec === protobufCodec ? undefined : await attempt(() => parseLarge(bytes, format, readYaml));
  await turn();
  return new Body(bytes, format, parsed ?? (() => parse(bytes, format)));
}

function parseLarge(bytes: Uint8Array, format: Format, readYaml: YamlReader | undefined): Soon<ParsedBody> {
  if (format.codec === jsonCodec || bytes.length <= largeYaml) return parse(bytes, format);
  // Clients that apply or create large objects send JSON under the name of YAML.
  return bytes[0] === brace ? jsonOrYaml(bytes, format, readYaml) : parseElsewhere(bytes, readYaml);
}
const brace = 0x7b;

async function jsonOrYaml(bytes: Uint8Array, format: Format, readYaml: YamlReader | undefined): Promise<ParsedBody> {
  try {
    return parse(bytes, { ...format, codec: jsonCodec });
  } catch (error) {
    if (!(error instanceof DecodeError && error.syntax === "json")) throw error;
    await turn();
    return parseElsewhere(bytes, readYaml);
  }
}

async function parseElsewhere(bytes: Uint8Array, readYaml: YamlReader | undefined): Promise<ParsedBody> {
  if (!readYaml) throw tooLarge(largeYaml);
  const { json, duplicates } = await readYaml(bytes, mostValues);
  const { value } = parseJson(json, { mostValues });
  const document = { value, exactValue: () => exactValue(json, value), duplicates };
  return {
    value: (kind) => (kind?.model.keepsInt64 ? document.exactValue() : value),
    decode: (subject) => decodeYaml(subject, document),
  };
}

function parse(bytes: Uint8Array, { codec, patchType }: Format): ParsedBody {
  const text = decodeUtf8(bytes);
  if (codec !== jsonCodec) {
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

/** Does the work now, and returns or throws the result when called: the message of a refusal depends on the caller. */
async function attempt<T>(work: () => Soon<T>): Promise<() => T> {
  try {
    const result = await work();
    return () => result;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return () => {
      throw error;
    };
  }
}
