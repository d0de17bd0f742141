import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  bool,
  bytes,
  double,
  either,
  fieldsV1,
  inline,
  int32,
  int64,
  intOrString,
  json,
  list,
  map,
  microTime,
  quantity,
  rawExtension,
  ref,
  scalars,
  string,
  time,
} from "../field.ts";
import { DecodeError } from "../json.ts";
import { type AnyStruct, struct } from "../struct.ts";
import { arbitraryOf } from "../testing/arbitrary.ts";
import { normalized } from "../testing/normalize.ts";
import { decodeMessage, encodeMessage } from "./codec.ts";

const Inner = struct("test.Inner", { key: string(1).required(), on: bool(2) });
const Source = struct("test.Source", { path: string(1), source: ref(2, Inner) });
const Outer: AnyStruct = struct("test.Outer", {
  text: string(1),
  pointed: string(2).pointer(),
  flag: bool(3),
  small: int32(4),
  big: int64(5).pointer(),
  real: double(6).pointer(),
  blob: bytes(7),
  when: time(8),
  exactly: microTime(9).pointer(),
  amount: quantity(10).pointer(),
  port: intOrString(11).pointer(),
  raw: rawExtension(12),
  any: json(13).pointer(),
  fields: fieldsV1(14).pointer(),
  inner: ref(15, Inner).required(),
  maybe: ref(16, Inner),
  again: ref(17, { lazy: () => Outer }),
  texts: list(18, "string"),
  numbers: list(19, "int64").required(),
  inners: list(20, Inner),
  labels: map(21, "string"),
  amounts: map(22, "quantity"),
  extra: map(23, { listOf: "string" }),
  ...inline(24, Source),
  boxed: list(25, "string").boxed(),
  items: either(26, {
    name: "InnerOrList",
    struct: () => Inner,
    structNumber: 1,
    other: { is: "list", item: scalars.string },
    otherNumber: 2,
  }).pointer(),
  more: either(100, {
    name: "InnerOrBool",
    struct: () => Inner,
    structNumber: 2,
    other: scalars.bool,
    otherNumber: 1,
  }).pointer(),
});

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const unhex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));
const decodeHex = (text: string, as: AnyStruct = Outer) => decodeMessage(as, unhex(text));

test("whatever a struct can hold comes back from protobuf", () => {
  fc.assert(
    fc.property(arbitraryOf(Outer), (value) => {
      assert.deepEqual(decodeMessage(Outer, encodeMessage(Outer, value)), normalized(Outer, value));
    }),
    { numRuns: 500 },
  );
});

const written: readonly [title: string, as: AnyStruct, value: object, bytes: string][] = [
  ["zero is written where the field is no pointer", Inner, {}, "0a00 1000"],
  ["a pointer is written only when set", struct("S", { a: int32(1).pointer() }), {}, ""],
  ["a pointer to zero is written", struct("S", { a: int32(1).pointer() }), { a: 0 }, "0800"],
  ["negative numbers take ten bytes", struct("S", { a: int32(1) }), { a: -1 }, "08 ffffffffffffffffff01"],
  ["a number beyond 32 bits", struct("S", { a: int64(1) }), { a: 2 ** 53 - 1 }, "08 ffffffffffffff0f"],
  ["fields follow their numbers", struct("S", { b: bool(2), a: bool(1) }), { b: true, a: true }, "0801 1001"],
  ["a tag of two bytes", struct("S", { a: string(17) }), { a: "x" }, "8a01 01 78"],
  [
    "maps follow their keys",
    struct("S", { a: map(1, "string") }),
    { a: { b: "2", a: "" } },
    "0a050a01611200 0a060a0162120132",
  ],
  [
    "keys are ordered by their bytes, not by their UTF-16",
    struct("S", { a: map(1, "string") }),
    { a: { "\u{1f600}": "", "\ufb01": "" } },
    "0a07 0a03efac81 1200 0a08 0a04f09f9880 1200",
  ],
  ["a time is seconds and nanoseconds", struct("S", { a: time(1) }), { a: "1970-01-01T00:02:03Z" }, "0a04 087b 1000"],
  ["no time at all is an empty message", struct("S", { a: time(1) }), {}, "0a00"],
  ["Go's zero time is an empty message", struct("S", { a: time(1) }), { a: "0001-01-01T00:00:00Z" }, "0a00"],
  ["an offset is taken off", struct("S", { a: time(1) }), { a: "1970-01-01T02:00:01+02:00" }, "0a04 0801 1000"],
  ["microseconds", struct("S", { a: microTime(1) }), { a: "1970-01-01T00:00:01.000001Z" }, "0a05 0801 10e807"],
  ["bytes are not base64", struct("S", { a: bytes(1) }), { a: "/wA=" }, "0a02 ff00"],
  ["bytes that were never set are not written", struct("S", { a: bytes(1) }), {}, ""],
  ["a quantity is a message with its text", struct("S", { a: quantity(1) }), { a: "1Gi" }, "0a05 0a03 314769"],
  ["no quantity is the quantity 0", struct("S", { a: quantity(1) }), {}, "0a03 0a01 30"],
  ["a number where a text may be", struct("S", { a: intOrString(1) }), { a: 80 }, "0a06 0800 1050 1a00"],
  ["a text where a number may be", struct("S", { a: intOrString(1) }), { a: "80%" }, "0a09 0801 1000 1a03 383025"],
  [
    "a list in a map is a message",
    struct("S", { a: map(1, { listOf: "string" }) }),
    { a: { k: ["v"] } },
    "0a08 0a016b 1203 0a0176",
  ],
  ["inlined fields are a message of their own", struct("S", { ...inline(2, Inner) }), { key: "k" }, "1205 0a016b 1000"],
  ["JSON is kept as text", struct("S", { a: json(1) }), { a: [1] }, "0a05 0a03 5b315d"],
  ["JSON's null is an empty message", struct("S", { a: list(1, "json") }), { a: [null] }, "0a00"],
  [
    "a schema implies that true was meant",
    struct("S", { a: Outer.fields.more }),
    { a: { key: "" } },
    "a20608 0801 1204 0a00 1000",
  ],
  ["halves of surrogate pairs are replaced", struct("S", { a: string(1) }), { a: "\ud800" }, "0a03 efbfbd"],
];
for (const [title, as, value, bytes] of written)
  test(`written: ${title}`, () => assert.equal(hex(encodeMessage(as, value)), bytes.replaceAll(" ", "")));

const read: readonly [title: string, as: AnyStruct, bytes: string, value: object][] = [
  ["what is always there is there even if it was not sent", Inner, "", { key: "" }],
  ["zero is absent", Inner, "0a01 61 1000", { key: "a" }],
  ["the last of many wins", Inner, "0a0161 1001 0a0162 1000", { key: "b" }],
  [
    "messages that come in parts are joined",
    struct("S", { a: ref(1, Inner) }),
    "0a030a0161 0a021001",
    { a: { key: "a", on: true } },
  ],
  ["fields of later versions are passed over", Inner, "0a0161 1a0178 2001 2d01020304 310102030405060708", { key: "a" }],
  ["groups are passed over", Inner, "1b 23 0801 24 1c 0a0161", { key: "a" }],
  ["numbers may come packed", struct("S", { a: list(1, "int64") }), "0a03 010203", { a: [1, 2, 3] }],
  ["numbers may come one by one", struct("S", { a: list(1, "int64") }), "0801 0802", { a: [1, 2] }],
  ["an entry without value has an empty one", struct("S", { a: map(1, "string") }), "0a03 0a0161", { a: { a: "" } }],
  ["an entry without key has an empty one", struct("S", { a: map(1, Inner) }), "0a00", { a: { "": { key: "" } } }],
  ["a zero time is absent", struct("S", { a: time(1).required() }), "0a00", {}],
  ["the year 9999", struct("S", { a: time(1) }), "0a07 08ff82d1ffaf07", { a: "9999-12-31T23:59:59Z" }],
  ["nanoseconds are cut off", struct("S", { a: time(1) }), "0a08 0801 10ff93ebdc03", { a: "1970-01-01T00:00:01Z" }],
  [
    "a quantity in the form upstream answers with",
    struct("S", { a: quantity(1) }),
    "0a08 0a06 313032344d69",
    { a: "1Gi" },
  ],
  ["bytes that are no UTF-8", struct("S", { a: string(1) }), "0a02 61ff", { a: "a\ufffd" }],
  ["a byte order mark is part of the text", struct("S", { a: string(1) }), "0a03 efbbbf", { a: "\ufeff" }],
  ["a varint may be longer than it needs to be", struct("S", { a: int32(1) }), "08 8180808000", { a: 1 }],
];
for (const [title, as, bytes, value] of read)
  test(`read: ${title}`, () => assert.deepEqual(decodeHex(bytes, as), value));

test("a key __proto__ is a key like any other", () => {
  const decoded = decodeHex("aa01 0e 0a095f5f70726f746f5f5f 120178");
  assert.deepEqual(Object.entries(decoded.labels), [["__proto__", "x"]]);
  assert.equal(({} as Record<string, unknown>).x, undefined);
});

const deep = (levels: number): Uint8Array => {
  let bytes = new Uint8Array();
  for (let i = 0; i < levels; i++) {
    const length = [];
    for (let rest = bytes.length; ; rest >>>= 7) {
      length.push(rest < 0x80 ? rest : (rest & 0x7f) | 0x80);
      if (rest < 0x80) break;
    }
    bytes = Uint8Array.from([0x8a, 0x01, ...length, ...bytes]);
  }
  return bytes;
};

const refused: readonly [title: string, bytes: Uint8Array, message: RegExp][] = [
  ["an end within a text", unhex("0a05 61"), /^text: protobuf: 5 bytes are announced, 1 are left$/],
  ["an end within a number", unhex("20 80"), /^small: protobuf: the message ends too early$/],
  ["an end within a double", unhex("31 0000"), /^real: protobuf: the message ends too early$/],
  ["an end within a tag", unhex("80"), /^protobuf: the message ends too early$/],
  [
    "a text that leaves its message",
    unhex("7a04 0a05 6162 63646566"),
    /^inner\.key: protobuf: 5 bytes are announced, 2 are left$/,
  ],
  ["a number that leaves its message", unhex("7a02 10 80 01"), /^inner: protobuf: a field reaches beyond its message$/],
  ["another wire type", unhex("08 01"), /^text: protobuf: wire type 0 is not that of field 1$/],
  ["a wire type there is not", unhex("d707"), /^protobuf: there is no wire type 7$/],
  ["the field 0", unhex("02 00"), /^protobuf: there is no field 0$/],
  ["a group that only ends", unhex("dc07"), /^protobuf: a group ends that did not begin$/],
  ["a group that never ends", unhex("db07"), /^protobuf: the message ends too early$/],
  [
    "a number of eleven bytes",
    unhex("20 ffffffffffffffffffff01"),
    /^small: protobuf: an integer takes more than ten bytes$/,
  ],
  ["a length below zero", unhex("0a ffffffffffffffffff01"), /^text: protobuf: a length is negative$/],
  [
    "a length beyond all memory",
    unhex("0a ffffffffffffff7f"),
    /^text: protobuf: 7205759403792794[0-9] bytes are announced, 0 are left$/,
  ],
  [
    "a number beyond 2^53",
    unhex("28 ffffffffffffffff7f"),
    /^big: protobuf: the integer 9223372036854775807 is beyond 2\^53$/,
  ],
  ["no JSON in JSON", unhex("6a03 0a01 7b"), /^any: protobuf: unexpected end of JSON input$/],
  ["a number where an object should be", unhex("6203 0a01 31"), /^raw: protobuf: a JSON object was expected$/],
  [
    "a time after the year 9999",
    unhex("4207 08ffffffffff3f"),
    /^when: protobuf: second 2199023255551 is not within the years 1 to 9999$/,
  ],
  ["a quantity that is none", unhex("5204 0a02 3178"), /^amount: protobuf: /],
  ["not a number", unhex("31 000000000000f87f"), /^real: protobuf: NaN is no JSON number$/],
  [
    "the item of a list",
    unhex("a201020a00 a201020a01"),
    /^inners\[1\]\.key: protobuf: 1 bytes are announced, 0 are left$/,
  ],
  ["the value of a map", unhex("aa0105 0a0161 1201"), /^labels\["a"\]: protobuf: /],
  [
    "a type that is neither number nor text",
    unhex("5a02 0802"),
    /^port: protobuf: a number or a text was expected, not type 2$/,
  ],
  [
    "messages inside each other without end",
    deep(2000),
    /again: protobuf: more than 256 messages lie inside each other$/,
  ],
];
for (const [title, bytes, message] of refused)
  test(`refused: ${title}`, () =>
    assert.throws(
      () => decodeMessage(Outer, bytes),
      (error) => error instanceof DecodeError && message.test(error.message),
    ));

test("a struct without numbers has no protobuf form", () => {
  assert.throws(
    () => encodeMessage(struct("test.Table", { cells: list(0, "json") }), {}),
    /test.Table has no protobuf form/,
  );
});

test("an object too deep for protobuf is not encoded", () => {
  let value = {};
  for (let i = 0; i < 300; i++) value = { again: value };
  assert.throws(() => encodeMessage(Outer, value), RangeError);
});

test("random and damaged bytes are decoded or refused, nothing else", () => {
  const survives = (bytes: Uint8Array) => {
    try {
      decodeMessage(Outer, bytes);
    } catch (error) {
      assert.ok(error instanceof DecodeError, String(error));
    }
  };
  const prototype = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), survives), { numRuns: 5000 });
  const damaged = fc
    .tuple(arbitraryOf(Outer), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }), fc.nat())
    .map(([value, changes, cut]) => {
      const bytes = encodeMessage(Outer, value);
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
      return cut % 3 === 0 ? bytes.subarray(0, cut % bytes.length) : bytes;
    });
  fc.assert(fc.property(damaged, survives), { numRuns: 5000 });
  assert.equal(JSON.stringify(Object.getOwnPropertyNames(Object.prototype)), prototype);
});
