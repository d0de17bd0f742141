import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type DecodeResult, decodeText } from "./decode.ts";
import {
  bool,
  bytes,
  double,
  int32,
  int64,
  intOrString,
  json,
  lazy,
  list,
  map,
  quantity,
  rawExtension,
  ref,
  string,
  struct,
  time,
} from "./index.ts";
import { DecodeError, decodeUtf8, keyPaths, parseJson } from "./json.ts";
import type { AnyStruct } from "./struct.ts";

const Inner = struct("test/v1.Inner", {
  name: string(1).required(),
  weight: int32(2),
});
const Tree: AnyStruct = struct("test/v1.Tree", {
  child: ref(
    1,
    lazy<unknown>(() => Tree),
  ),
});
const Thing = struct("test/v1.Thing", {
  text: string(1),
  note: string(2).pointer(),
  always: string(3).required(),
  count: int32(4),
  limit: int32(5).pointer(),
  big: int64(6),
  share: double(7).pointer(),
  on: bool(8),
  data: bytes(9),
  at: time(10),
  size: quantity(11),
  port: intOrString(12),
  raw: rawExtension(13),
  any: json(14),
  inner: ref(15, Inner),
  items: list(16, Inner),
  words: list(17, "string"),
  labels: map(18, "string"),
  sizes: map(19, "quantity"),
  hidden: string(20).off("SomeGate"),
  tree: ref(21, Tree),
});

const decode = (text: string): DecodeResult => decodeText(Thing, text);
const object = (text: string) => decode(text).object;
const refusal = (text: string): string => {
  try {
    decode(text);
  } catch (error) {
    assert.ok(error instanceof DecodeError, `threw ${error}`);
    return error.message;
  }
  throw new Error(`accepted ${text.slice(0, 80)}`);
};

test("what Go would not write again is absent: null everywhere, zero in fields that are not pointers", () => {
  const table: readonly [string, object][] = [
    ['{"text":"","count":0,"on":false,"words":[],"labels":{},"big":0}', {}],
    ['{"text":null,"inner":null,"limit":null,"words":null}', {}],
    ['{"note":"","limit":0,"share":0}', { note: "", limit: 0, share: 0 }],
    ['{"always":"","inner":{}}', { always: "", inner: {} }],
    [
      '{"items":[null],"words":[null],"labels":{"a":null},"sizes":{"cpu":null}}',
      { items: [{}], words: [""], labels: { a: "" }, sizes: { cpu: "0" } },
    ],
    ['{"count":-0}', {}],
    ['{"hidden":"x","text":"y"}', { text: "y" }],
  ];
  for (const [text, expected] of table) assert.deepEqual(object(text), expected, text);
});

test("quantities come out canonical, and numbers may stand for them", () => {
  assert.deepEqual(object('{"size":1.5,"sizes":{"a":"1000m","b":"0.5","c":2048,"d":"1024Ki"}}'), {
    size: "1500m",
    sizes: { a: "1", b: "500m", c: "2048", d: "1Mi" },
  });
});

test("a value of the wrong type is refused in Go's words, with the path of the field", () => {
  const table: Readonly<Record<string, string>> = {
    '{"count":"1"}': "json: cannot unmarshal string into Go struct field Thing.count of type int32",
    '{"count":1.5}': "json: cannot unmarshal number 1.5 into Go struct field Thing.count of type int32",
    '{"count":3000000000}': "json: cannot unmarshal number 3000000000 into Go struct field Thing.count of type int32",
    '{"count":2.0}': "json: cannot unmarshal number 2.0 into Go struct field Thing.count of type int32",
    '{"count":2e0}': "json: cannot unmarshal number 2e0 into Go struct field Thing.count of type int32",
    '{"big":1e30}': "json: cannot unmarshal number 1e30 into Go struct field Thing.big of type int64",
    '{"big":9007199254740993}': "big: 9007199254740992 is beyond ±2^53, which this server cannot hold exactly",
    '{"share":1e400}': "json: cannot unmarshal number 1e400 into Go struct field Thing.share of type float64",
    '{"any":{"a":[1e400]}}': "json: cannot unmarshal number 1e400 into Go struct field Thing.any.a of type float64",
    '{"items":[{},{"name":7}]}': "json: cannot unmarshal number into Go struct field Inner.items.name of type string",
    '{"items":{}}': "json: cannot unmarshal object into Go struct field Thing.items of type []v1.Inner",
    '{"labels":{"a":{}}}': "json: cannot unmarshal object into Go struct field Thing.labels of type string",
    '{"labels":[]}': "json: cannot unmarshal array into Go struct field Thing.labels of type map[string]string",
    '{"inner":"x"}': "json: cannot unmarshal string into Go struct field Thing.inner of type v1.Inner",
    '{"on":1}': "json: cannot unmarshal number into Go struct field Thing.on of type bool",
    '{"items":[{"name":"a"},7]}': "json: cannot unmarshal number into Go struct field Thing.items of type v1.Inner",
    '{"data":"a$b="}': "illegal base64 data at input byte 1",
    '{"data":"abc"}': "illegal base64 data at input byte 0",
    '{"data":"YWJj\\nYW"}': "illegal base64 data at input byte 5",
    '{"data":"YWJjYQ="}': "illegal base64 data at input byte 7",
    '{"data":"YQ==YWJj"}': "illegal base64 data at input byte 4",
    '{"sizes":{"cpu":"1x"}}':
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    '{"sizes":{"cpu":true}}':
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    '{"at":""}': `parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"`,
    '{"at":"yesterday"}': `parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"`,
    '{"at":1}': "json: cannot unmarshal number into Go struct field Thing.at of type string",
    "[]": "json: cannot unmarshal array into Go value of type v1.Thing",
  };
  for (const [text, message] of Object.entries(table)) assert.equal(refusal(text), message, text);
});

test("null in place of an object is one without fields", () => {
  assert.deepEqual(decode("null").object, {});
});

test("the error knows the exact place, indexes included", () => {
  assert.throws(() => decode('{"items":[{},{"weight":"x"}]}'), { name: "DecodeError", field: "items[1].weight" });
});

test("unknown and duplicate fields are named in the order in which they stand, and dropped", () => {
  const { object, strictErrors } = decode(
    '{"text":"a","text":"b","tset":1,"items":[{"nam":{"x":1,"x":2}}],"labels":{"k":"1","k":"2"}}',
  );
  assert.deepEqual(object, { text: "b", items: [{}], labels: { k: "2" } });
  assert.deepEqual(strictErrors, [
    'duplicate field "text"',
    'unknown field "tset"',
    'unknown field "items[0].nam"',
    'duplicate field "labels.k"',
  ]);
  assert.deepEqual(
    decode('{"text":"a","labels":{"text":"b"},"any":{"a":{"a":[{"a":1},{"a":2}]}},"raw":{"k":null}}').strictErrors,
    [],
  );
});

test("names that JavaScript gives a meaning are ordinary names here", () => {
  const before = Object.getOwnPropertyNames(Object.prototype).join();
  const { object, strictErrors } = decode(
    '{"__proto__":{"a":1},"constructor":1,"labels":{"__proto__":"x","constructor":"y","toString":null},"any":{"__proto__":{"b":1}}}',
  );
  assert.equal(
    JSON.stringify(object),
    '{"labels":{"__proto__":"x","constructor":"y","toString":""},"any":{"__proto__":{"b":1}}}',
  );
  assert.deepEqual(strictErrors, ['unknown field "__proto__"', 'unknown field "constructor"']);
  assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), before);
  assert.equal(({} as Record<string, unknown>).a, undefined);
});

test("hostile text is refused with its reason, in bounded time", () => {
  const deep = (open: string, close: string, levels: number) => open.repeat(levels) + close.repeat(levels);
  assert.match(refusal(`{"any":${deep("[", "]", 10_000)}}`), /nested more than 500 levels deep at offset/);
  assert.match(
    refusal(`{"any":${deep('{"a":', "1}", 10_000).replace("1}", "1}")}`),
    /nested more than 500 levels deep/,
  );
  assert.match(refusal(`${deep('{"tree":', "", 1)}${'{"child":'.repeat(10_000)}`), /nested more than 500/);
  for (const text of [
    "",
    " ",
    "{",
    '{"text"',
    '{"text":}',
    '{"text":"a",}',
    "{'text':1}",
    '{"text":NaN}',
    '{"text":Infinity}',
    '{"text":"\n"}',
    '{"text":01}',
    "{}{}",
    '"',
    '{"a":"\\',
    "nul",
  ])
    assert.match(refusal(text), /^(invalid character|unexpected end)/, text);
  const long = "x".repeat(10 * 1024 * 1024);
  assert.equal(object(`{"text":"${long}"}`).text, long);
  assert.ok(refusal(`{"count":"${long}"}`).length < 200);
  assert.ok(refusal(`{"${long}`).length < 400);
});

test("half a surrogate pair becomes the replacement character in text, and is refused in a key", () => {
  assert.deepEqual(object('{"text":"a\\ud800b","any":["\\udc00"]}'), { text: "a\ufffdb", any: ["\ufffd"] });
  assert.match(refusal('{"labels":{"\\ud800":"x"}}'), /half a surrogate pair/);
});

test("a body that is not UTF-8 is refused", () => {
  assert.throws(() => decodeUtf8(Uint8Array.of(0x7b, 0xff, 0x7d)), {
    name: "DecodeError",
    message: "the body is not valid UTF-8",
  });
  assert.equal(decodeUtf8(new TextEncoder().encode('{"ü":1}')), '{"ü":1}');
});

test("duplicates are found wherever they stand, and nowhere else", () => {
  const names = fc.constantFrom("a", "b", '"', "\\", "{", ":", " ");
  const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
    node: fc.oneof(
      { depthSize: "small" },
      fc.integer(),
      fc.string(),
      fc.array(tie("node"), { maxLength: 3 }),
      fc.array(fc.tuple(names, tie("node")), { maxLength: 4 }).map((pairs) => ({ pairs })),
    ),
  })).node;
  /** Writes objects from pairs, so that keys may repeat, and counts the repeats. */
  const write = (node: unknown): { text: string; repeats: number } => {
    if (Array.isArray(node)) {
      const parts = node.map(write);
      return {
        text: `[${parts.map(({ text }) => text).join(" , ")}]`,
        repeats: parts.reduce((sum, part) => sum + part.repeats, 0),
      };
    }
    if (typeof node !== "object" || node === null) return { text: JSON.stringify(node), repeats: 0 };
    const { pairs } = node as { pairs: [string, unknown][] };
    const parts = pairs.map(([key, inner]) => ({ key, ...write(inner) }));
    const text = `{${parts.map(({ key, text }) => `${JSON.stringify(key)} : ${text}`).join(",")}}`;
    return {
      text,
      repeats:
        pairs.length - new Set(pairs.map(([key]) => key)).size + parts.reduce((sum, part) => sum + part.repeats, 0),
    };
  };
  fc.assert(
    fc.property(value, (node) => {
      const { text, repeats } = write(node);
      assert.equal([...keyPaths(text)].filter(({ isRepeated }) => isRepeated).length, repeats);
    }),
    { numRuns: 2000 },
  );
});

test("keys come out as they were written, whatever keys were read before", () => {
  const odd = fc.constantFrom("a", '"', "\\", "\n", '""', '\\"', "\u0001", "é", "k:{}", 'k:{"name":"x"}', 'k:{\\"name');
  const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
    node: fc.oneof(
      { depthSize: "small" },
      fc.integer(),
      fc.string(),
      fc.array(tie("node"), { maxLength: 3 }),
      fc.dictionary(odd, tie("node"), { maxKeys: 4 }),
    ),
  })).node;
  fc.assert(
    fc.property(value, (drawn) => {
      for (const text of [JSON.stringify(drawn), JSON.stringify(drawn, undefined, 2)])
        assert.equal(JSON.stringify(parseJson(text).value), JSON.stringify(drawn));
    }),
    { numRuns: 20_000 },
  );
});

test("ten thousand mutilated texts are decoded or refused, never worse", () => {
  const seed =
    '{"text":"a","note":"b","count":1,"share":0.5,"on":true,"data":"YQ==","size":"1Gi","port":"http","raw":{"a":[1,null]},"items":[{"name":"n"}],"labels":{"k":"v"},"tree":{"child":{}}}';
  const cut = fc
    .tuple(fc.nat(seed.length), fc.nat(seed.length), fc.string({ maxLength: 6 }))
    .map(([a, b, insert]) => seed.slice(0, Math.min(a, b)) + insert + seed.slice(Math.max(a, b)));
  const prototype = Object.getOwnPropertyNames(Object.prototype).join();
  fc.assert(
    fc.property(fc.oneof(cut, fc.json(), fc.string()), (text) => {
      try {
        decode(text);
      } catch (error) {
        assert.ok(error instanceof DecodeError, String(error));
      }
    }),
    { numRuns: 10_000 },
  );
  assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), prototype);
});
