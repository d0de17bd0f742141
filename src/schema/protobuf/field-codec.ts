// How a field of a struct is encoded: its tag, whether zero is written, and how repeated occurrences are merged.
import { setOwn } from "#base/collections.ts";
import type { Either, FieldSpec, Type } from "../field.ts";
import { manyMembers } from "../json.ts";
import type { AnyStruct } from "../struct.ts";
import { Malformed } from "./malformed.ts";
import { type FieldCodec, type Message, messageOf, type Values } from "./message.ts";
import type { Reader } from "./reader.ts";
import { lengthDelimited, scalarValues, type Value } from "./value.ts";

export function compileField(name: string, spec: FieldSpec): FieldCodec {
  const { type } = spec;
  if (type.is === "list") return spec.boxed ? boxed(name, spec, type.item) : list(name, spec, type.item);
  return type.is === "map" ? map(name, spec, type.value) : single(name, spec, valueFor(type));
}

/** Fields that stand beside their siblings in JSON, but in protobuf in a message of their own, which is always written. */
export function inlinedField(number: number, struct: AnyStruct): FieldCodec {
  const message = messageOf(struct);
  const tag = tagOf(number, lengthDelimited);
  return {
    name: "",
    number,
    wire: lengthDelimited,
    write(writer, object) {
      const before = writer.length;
      message.write(writer, object);
      writer.uint32(writer.length - before);
      writer.uint32(tag);
    },
    read(reader, limit, object) {
      message.read(reader, reader.end(limit), object);
    },
    complete: message.complete,
  };
}

const tagOf = (number: number, wire: number): number => number * 8 + wire;

function single(name: string, spec: FieldSpec, value: Value): FieldCodec {
  const { number } = spec;
  const { write, read, zero } = value;
  const tag = tagOf(number, value.wire);
  const isValue = !spec.pointer && (spec.type.is !== "struct" || spec.required === true || spec.default !== undefined);
  const writeZero = isValue && !value.nilable ? value.writeZero : undefined;
  const keepsZero = isValue && isKept(spec);
  const dropsZero = isValue && !keepsZero && zero !== undefined;

  return {
    name,
    number,
    wire: value.wire,
    write(writer, object) {
      const present = object[name];
      if (present !== undefined && present !== null) write(writer, present);
      else if (writeZero !== undefined) writeZero(writer);
      else return;
      writer.uint32(tag);
    },
    read(reader, limit, object, isAgain) {
      const found = isAgain ? read(reader, limit, object[name]) : read(reader, limit);
      if (found !== undefined && found !== null && !(dropsZero && found === zero)) object[name] = found;
      else if (isAgain && object[name] !== undefined) delete object[name];
    },
    ...(keepsZero && zero !== undefined && { complete: setIfAbsent(name, () => zero) }),
    ...(isValue && spec.type.is === "struct" && { complete: setIfAbsent(name, emptyStruct(spec.type.struct)) }),
  };
}

/** Read as if its items stood in the struct itself; written only if there is a list, though it be empty. */
function boxed(name: string, spec: FieldSpec, item: Type): FieldCodec {
  const codec = single(name, spec, boxedList(item));
  return {
    ...codec,
    read(reader, limit, object, isAgain) {
      codec.read(reader, limit, object, isAgain);
      if (object[name].length === 0) delete object[name];
    },
    ...(isKept(spec) && { complete: setIfAbsent(name, () => []) }),
  };
}

const setIfAbsent = (name: string, make: () => unknown) => (object: Values) => {
  if (object[name] === undefined) object[name] = make();
};

const emptyStruct = (struct: () => AnyStruct) => () => {
  const object: Values = {};
  messageOf(struct()).complete(object);
  return object;
};

function list(name: string, spec: FieldSpec, item: Type): FieldCodec {
  const { number } = spec;
  const { wire, write, writeZero, read, zero } = valueFor(item);
  const tag = tagOf(number, wire);
  return {
    name,
    number,
    wire,
    write(writer, object) {
      const items: readonly unknown[] | undefined = object[name];
      if (items === undefined || items === null) return;
      for (let i = items.length - 1; i >= 0; i--) {
        const item = items[i];
        if (item === undefined || item === null) writeZero(writer);
        else write(writer, item);
        writer.uint32(tag);
      }
    },
    read(reader, limit, object) {
      object[name] ??= [];
      if (object[name].length >= manyMembers) reader.count();
      object[name].push(read(reader, limit) ?? zero ?? null);
    },
    ...(wire !== lengthDelimited && {
      readPacked(reader: Reader, limit: number, object: Values) {
        object[name] ??= [];
        const end = reader.end(limit);
        while (reader.at < end) {
          reader.count();
          if (object[name].length >= manyMembers) reader.count();
          object[name].push(read(reader, end));
        }
        if (reader.at > end) throw new Malformed("a number reaches beyond its list");
      },
    }),
    ...(isKept(spec) && { complete: setIfAbsent(name, () => []) }),
  };
}

/** What JSON has even when it is zero or empty. */
const isKept = (spec: FieldSpec): boolean => (spec.required === true || spec.always === true) && !spec.omitEmpty;

/** One message for each entry: the key is field 1, the value field 2. */
function map(name: string, spec: FieldSpec, type: Type): FieldCodec {
  const { number } = spec;
  const value = valueFor(type);
  const tag = tagOf(number, lengthDelimited);
  const valueTag = tagOf(2, value.wire);
  return {
    name,
    number,
    wire: lengthDelimited,
    write(writer, object) {
      const entries: Values | undefined = object[name];
      if (entries === undefined || entries === null) return;
      const keys = Object.keys(entries);
      if (keys.length > 1) keys.sort(byBytes);
      for (let i = keys.length - 1; i >= 0; i--) {
        const key = keys[i] as string;
        const before = writer.length;
        const entry = entries[key];
        if (entry === undefined || entry === null) value.writeZero(writer);
        else value.write(writer, entry);
        writer.byte(valueTag);
        writer.string(key);
        writer.byte(0x0a);
        writer.uint32(writer.length - before);
        writer.uint32(tag);
      }
    },
    read(reader, limit, object) {
      const end = reader.end(limit);
      let key = "";
      let entryValue: unknown;
      try {
        for (let tag = reader.tag(end); tag !== 0; tag = reader.tag(end)) {
          if (tag === 0x0a) key = reader.string(end);
          else if (tag === valueTag) entryValue = value.read(reader, end);
          else reader.skip(tag, end, 2);
        }
      } catch (error) {
        throw error instanceof Malformed ? error.within(`[${JSON.stringify(key)}]`) : error;
      }
      object[name] ??= {};
      entryValue ??= value.zero ?? value.empty?.();
      if (entryValue !== undefined) setOwn(object[name], key, entryValue);
    },
    ...(isKept(spec) && { complete: setIfAbsent(name, () => ({})) }),
  };
}

/** Go sorts by bytes of UTF-8, which for all but surrogate pairs is the order JavaScript has. */
const byBytes = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
};
const rank = (code: number): number => (code >= 0xd800 && code <= 0xdfff ? code + 0x10000 : code);

export function valueFor(type: Type): Value {
  switch (type.is) {
    case "struct":
      return structValue(type.struct);
    case "either":
      return eitherValue(type.either);
    case "list":
      return boxedList(type.item);
    case "map":
      throw new TypeError("protobuf has no map inside a list or a map");
    default:
      return scalarValues[type.is];
  }
}

const nothing: Values = {};

function structValue(struct: () => AnyStruct): Value {
  let known: Message | undefined;
  const message = () => (known ??= messageOf(struct()));
  return {
    wire: lengthDelimited,
    write(writer, value: Values) {
      const before = writer.length;
      writer.enter();
      message().write(writer, value);
      writer.leave();
      writer.uint32(writer.length - before);
    },
    writeZero(writer) {
      const before = writer.length;
      message().write(writer, nothing);
      writer.uint32(writer.length - before);
    },
    read(reader, limit, before?: Values) {
      const object = before ?? {};
      reader.enter();
      message().read(reader, reader.end(limit), object);
      reader.leave();
      message().complete(object);
      return object;
    },
    empty: emptyStruct(struct),
  };
}

/** A list where protobuf wants a single message: the items are its field 1. */
function boxedList(item: Type): Value {
  const box: FieldCodec = list("items", { number: 1, type: { is: "list", item }, doc: "" }, item);
  return {
    wire: lengthDelimited,
    write(writer, items: readonly unknown[]) {
      const before = writer.length;
      box.write(writer, { items });
      writer.uint32(writer.length - before);
    },
    writeZero: (writer) => writer.byte(0),
    nilable: true,
    read(reader, limit, before?: readonly unknown[]) {
      const end = reader.end(limit);
      const object = { items: before ? [...before] : [] };
      for (let tag = reader.tag(end); tag !== 0; tag = reader.tag(end)) {
        if (tag === tagOf(1, box.wire)) box.read(reader, end, object, true);
        else reader.skip(tag, end, 1);
      }
      return object.items;
    },
    empty: () => [],
  };
}

/** A message with a field for the struct and one for what may stand in its place. A schema implies that `true` was meant. */
function eitherValue({ struct, structNumber, other, otherNumber }: Either): Value {
  const inner = structValue(struct);
  const isFlag = other.is === "bool";
  const rest = compileField("other", { number: otherNumber, type: other, doc: "" });
  const structTag = tagOf(structNumber, lengthDelimited);
  const writeStruct = (writer: Parameters<Value["write"]>[0], value: Values) => {
    inner.write(writer, value);
    writer.byte(structTag);
  };
  return {
    wire: lengthDelimited,
    write(writer, value: unknown) {
      const before = writer.length;
      const isStruct = typeof value === "object" && value !== null && !Array.isArray(value);
      if (!isStruct) rest.write(writer, { other: value });
      else {
        writeStruct(writer, value);
        if (isFlag) rest.write(writer, { other: true });
      }
      writer.uint32(writer.length - before);
    },
    writeZero: (writer) => writer.byte(0),
    read(reader, limit) {
      const end = reader.end(limit);
      const found: Values = {};
      for (let tag = reader.tag(end); tag !== 0; tag = reader.tag(end)) {
        if (tag === structTag) found.struct = inner.read(reader, end, found.struct);
        else if (tag === tagOf(otherNumber, rest.wire)) rest.read(reader, end, found, true);
        else reader.skip(tag, end, 2);
      }
      return found.struct ?? found.other ?? (isFlag ? false : []);
    },
  };
}
