import { atOnce, type StepwiseWork } from "#base/breathe.ts";
import { type DecodeResult, decodeValue } from "#schema/decode.ts";
import { decodeUtf8 } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { AnyStruct } from "#schema/struct.ts";
import { asWritten } from "#schema/written.ts";
import type { Codec, ListEncoder, TypedSubject } from "./codec.ts";
import { withNames } from "./json.ts";
import { yamlType } from "./negotiate.ts";
import { compareKeys } from "./yaml/key-order.ts";
import { parseYaml, type YamlDocument } from "./yaml/read.ts";
import { printYaml, printYamlSteps } from "./yaml/write.ts";

const encoder = new TextEncoder();

/** Cannot be watched, as upstream cannot: nothing says where a document ends before the next begins. */
export const yamlCodec: Codec = {
  mediaType: yamlType,
  supports: () => true,
  encode: (subject, object) => atOnce(encodeSteps(subject, object)),
  encodeSteps,
  listEncoder,
  decode: (subject, body, mostValues) => decodeYaml(subject, parseYaml(decodeUtf8(body), mostValues)),
};

function* encodeSteps(subject: TypedSubject, object: object): StepwiseWork<Uint8Array> {
  const written = withNames(subject, asWritten(subject.struct, object));
  yield;
  const text = yield* printYamlSteps(written);
  yield;
  return encoder.encode(text);
}

/** Keys of a document and items of a list each begin on a line of their own, and no line depends on those before. */
function listEncoder(subject: TypedSubject, list: object, field: string): ListEncoder {
  const { [field]: _items, ...others } = asWritten(subject.struct, list) as Readonly<Record<string, unknown>>;
  const entries = Object.entries(withNames(subject, others));
  const printed = (isHere: (key: string) => boolean): string => {
    const some = entries.filter(([key]) => isHere(key));
    return some.length === 0 ? "" : printYaml(Object.fromEntries(some));
  };
  const heading = `${field}:\n`;
  const itemSteps = function* (item: object): StepwiseWork<Uint8Array> {
    const text = yield* printYamlSteps({ [field]: asWritten(subject.struct, { [field]: [item] })[field] });
    yield;
    return encoder.encode(text.slice(heading.length));
  };
  return {
    item: (item) => atOnce(itemSteps(item)),
    itemSteps,
    around: () => ({
      head: encoder.encode(printed((key) => compareKeys(key, field) < 0) + heading),
      tail: encoder.encode(printed((key) => compareKeys(key, field) > 0)),
    }),
  };
}

/** A document that has been parsed as an object. What was parsed becomes the object and must not be shared. */
export function decodeYaml(subject: AnyKind | AnyStruct, document: YamlDocument): DecodeResult {
  const isExact = "model" in subject && subject.model.keepsInt64;
  const decoded = decodeValue(subject, isExact ? document.exactValue() : document.value);
  const { duplicates } = document;
  if (duplicates.length === 0) return decoded;
  const twice = `yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`;
  return { object: decoded.object, strictErrors: [twice, ...decoded.strictErrors] };
}
