// A struct as a protobuf message, byte for byte as Kubernetes' own encoders write it: fields in the order of their numbers, maps
// in the order of their keys, and Go's zero values written wherever a field is no pointer. Compiled once, at first use.
import type { ProtobufWriter } from "#base/protobuf-writer.ts";
import type { AnyField } from "../any.ts";
import type { FieldSpec } from "../field.ts";
import type { AnyStruct } from "../struct.ts";
import { compileField, inlinedField } from "./field-codec.ts";
import { Malformed } from "./malformed.ts";
import { type Reader, wrongWire } from "./reader.ts";
import { lengthDelimited } from "./value.ts";

export type Values = Record<string, any>;

export interface Message {
  /** Writes the fields of `value`, without tag and length. */
  write(writer: ProtobufWriter, value: Values): void;
  /** Reads fields up to `end` into `object`. */
  read(reader: Reader, end: number, object: Values): void;
  /** Sets what JSON has even when it is zero and was not sent. */
  complete(object: Values): void;
}

export interface FieldCodec {
  readonly name: string;
  readonly number: number;
  readonly wire: number;
  write(writer: ProtobufWriter, object: Values): void;
  /** `isAgain` if the field may have been read before, which is seldom: encoders write fields once and in order. */
  read(reader: Reader, limit: number, object: Values, isAgain: boolean): void;
  /** Reads many values that come as one run of bytes. */
  readPacked?(reader: Reader, limit: number, object: Values): void;
  complete?(object: Values): void;
}

/** What a struct is compiled to depends on nothing but the struct. */
const compiled = new WeakMap<AnyStruct, Message>();

export function messageOf(struct: AnyStruct): Message {
  const known = compiled.get(struct);
  if (known) return known;
  const message = compile(struct);
  compiled.set(struct, message);
  return message;
}

/** Tables, custom resources and whatever else has no numbers cannot be said in protobuf. */
export const hasProtobuf = (struct: AnyStruct): boolean =>
  !struct.jsonOnly &&
  Object.values<AnyField>(struct.fields).every(({ spec }) => spec.envelope === true || spec.number > 0);

function compile(struct: AnyStruct): Message {
  if (!hasProtobuf(struct)) throw new TypeError(`${struct.name} has no protobuf form`);
  const fields = fieldCodecs(struct).sort((a, b) => b.number - a.number);
  const byNumber: (FieldCodec | undefined)[] = [];
  for (const field of fields) byNumber[field.number] = field;
  const completions = fields.flatMap(({ complete }) => (complete ? [complete] : []));

  return {
    write(writer, value) {
      for (const field of fields) field.write(writer, value);
    },
    read(reader, end, object) {
      let field: FieldCodec | undefined;
      try {
        let highest = 0;
        for (let tag = reader.tag(end); tag !== 0; tag = reader.tag(end)) {
          field = byNumber[tag >>> 3];
          if (field === undefined) reader.skip(tag, end);
          else if ((tag & 7) === field.wire) field.read(reader, end, object, tag <= highest);
          else if ((tag & 7) === lengthDelimited && field.readPacked) field.readPacked(reader, end, object);
          else throw wrongWire(tag);
          field = undefined;
          if (tag > highest) highest = tag;
        }
      } catch (error) {
        if (error instanceof Malformed && field !== undefined && field.name !== "") error.within(stepTo(field, object));
        throw error;
      }
    },
    complete(object) {
      for (const complete of completions) complete(object);
    },
  };
}

const stepTo = ({ name }: FieldCodec, object: Values): string => {
  const held = object[name];
  return Array.isArray(held) ? `${name}[${held.length}]` : name;
};

function fieldCodecs(struct: AnyStruct): FieldCodec[] {
  const inlined = new Map<number, FieldCodec>();
  const own: FieldCodec[] = [];
  for (const [name, { spec }] of Object.entries<{ readonly spec: FieldSpec }>(struct.fields)) {
    if (spec.envelope) continue;
    if (spec.inlined) inlined.set(spec.inlined.number, inlinedField(spec.inlined.number, spec.inlined.struct));
    else own.push(compileField(name, spec));
  }
  return [...own, ...inlined.values()];
}
