import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { int32, json, list, map, ref, resource, string, struct } from "#schema/index.ts";
import { DecodeError } from "#schema/json.ts";
import { listStruct } from "#schema/protobuf/list.ts";
import { arbitraryObject } from "#schema/testing/arbitrary.ts";
import { normalized } from "#schema/testing/normalize.ts";
import { type Codec, named } from "./codec.ts";
import { jsonCodec } from "./json.ts";
import { protobufCodec } from "./protobuf.ts";
import { yamlCodec } from "./yaml.ts";

const ThingSpec = struct("test/v1.ThingSpec", {
  size: int32(1).pointer(),
  tags: list(2, "string"),
  notes: map(3, "string"),
});
const Thing = resource({
  group: "test",
  version: "v1",
  kind: "Thing",
  plural: "things",
  scope: "Cluster",
  doc: "",
  fields: { spec: ref(2, ThingSpec).default({}), label: string(3) },
});
const thing = named(Thing);
const codecs: readonly Codec[] = [jsonCodec, yamlCodec, protobufCodec];
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

for (const codec of codecs) {
  test(`an object comes back from ${codec.mediaType}`, () => {
    fc.assert(
      fc.property(arbitraryObject(Thing), (object) => {
        const { object: back, strictErrors } = codec.decode(Thing, codec.encode(thing, object));
        assert.deepEqual(strictErrors, []);
        assert.deepEqual(normalized(Thing.struct, back), normalized(Thing.struct, object));
        assert.equal(back.kind, "Thing");
        assert.equal(back.apiVersion, "test/v1");
      }),
    );
  });

  test(`a list in ${codec.mediaType} is the same whether it is encoded at once or item by item`, () => {
    const subject = { apiVersion: "test/v1", kind: "ThingList", struct: listStruct(Thing) };
    const metadata = { resourceVersion: "7", continue: "<&>", remainingItemCount: 3 };
    const items = fc.array(arbitraryObject(Thing), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(items, fc.boolean(), (things, isPretty) => {
        const atOnce = codec.encode(subject, { metadata, items: things }, { isPretty });
        const made = codec.listEncoder(subject, { metadata, items: [] }, "items", { isPretty });
        const parts = things.map((one, i) => made.item(one, i === 0));
        const { head, tail } = made.around(parts.reduce((sum, { length }) => sum + length, 0));
        assert.deepEqual(Buffer.concat([head, ...parts, tail]), Buffer.from(atOnce));
      }),
    );
  });

  test(`a body that is damaged is read from ${codec.mediaType} or refused, nothing else`, () => {
    const damaged = fc
      .tuple(arbitraryObject(Thing), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }))
      .map(([object, changes]) => {
        const bytes = codec.encode(thing, object);
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        return bytes;
      });
    fc.assert(
      fc.property(damaged, (bytes) => {
        try {
          codec.decode(Thing, bytes);
        } catch (error) {
          assert.ok(error instanceof DecodeError, String(error));
        }
      }),
      { numRuns: 2000 },
    );
  });
}

for (const codec of [jsonCodec, protobufCodec])
  test(`events of ${codec.mediaType} are found however the stream is cut`, () => {
    const types = fc.constantFrom("ADDED", "MODIFIED", "DELETED", "BOOKMARK");
    fc.assert(
      fc.property(
        fc.array(fc.record({ type: types, object: arbitraryObject(Thing, { depth: 2 }) }), { maxLength: 4 }),
        fc.integer({ min: 1, max: 50 }),
        (events, size) => {
          const stream = Buffer.concat(events.map((event) => codec.watch!.encode(thing, event)));
          const frames = codec.watch!.frames();
          const found = [];
          for (let at = 0; at < stream.length; at += size) found.push(...frames.push(stream.subarray(at, at + size)));
          assert.equal(frames.isPartial, false);
          assert.deepEqual(
            found.map(({ type, object }) => [type, object.kind, normalized(Thing.struct, object.decode(Thing).object)]),
            events.map(({ type, object }) => [type, "Thing", normalized(Thing.struct, object)]),
          );
        },
      ),
    );
  });

test("names are added to an object that has none", () => {
  assert.equal(text(jsonCodec.encode(thing, { spec: {} })), '{"kind":"Thing","apiVersion":"test/v1","spec":{}}\n');
  assert.equal(text(yamlCodec.encode(thing, { spec: {} })), "apiVersion: test/v1\nkind: Thing\nspec: {}\n");
});

test("JSON is indented on request", () => {
  assert.equal(
    text(jsonCodec.encode(thing, { spec: {} }, { isPretty: true })),
    '{\n  "kind": "Thing",\n  "apiVersion": "test/v1",\n  "spec": {}\n}',
  );
});

test("JSON is safe inside HTML and scripts, as Go writes it", () => {
  const spec = { text: "<a href='?b&c'>\u2028\u2029</a>", "<key>": 1 };
  for (const isPretty of [false, true]) {
    const json = text(jsonCodec.encode(thing, { spec }, { isPretty }));
    assert.doesNotMatch(json, /[<>&\u2028\u2029]/);
    assert.match(json, /\\u003ca href='\?b\\u0026c'\\u003e\\u2028\\u2029\\u003c\/a\\u003e/);
    assert.deepEqual(JSON.parse(json).spec, spec);
  }
});

test("an event in protobuf is its length, its type and an envelope", () => {
  const bytes = protobufCodec.watch!.encode(
    { apiVersion: "v1", kind: "X", struct: ThingSpec },
    { type: "ADDED", object: {} },
  );
  assert.equal(
    Buffer.from(bytes).toString("hex"),
    "0000001e 0a054144444544 1215 0a13 6b387300 0a070a0276311201581200 1a00 2200".replaceAll(" ", ""),
  );
});

test("a list says what it is, and is read again", () => {
  const things = { apiVersion: "test/v1", kind: "ThingList", struct: listStruct(Thing) };
  const value = { metadata: { resourceVersion: "7" }, items: [{ metadata: { name: "a" }, spec: {} }] };
  for (const codec of codecs)
    assert.deepEqual(codec.decode(things.struct, codec.encode(things, value)).object, {
      ...value,
      apiVersion: "test/v1",
      kind: "ThingList",
    });
});

test("what has no numbers is not for protobuf, and YAML cannot be watched", () => {
  assert.equal(protobufCodec.supports(struct("test.Row", { cells: list(0, "json"), any: json(0) })), false);
  assert.equal(protobufCodec.supports(Thing.struct), true);
  assert.equal(yamlCodec.watch, undefined);
});

test("an event that is announced larger than any may be is refused before it is held", () => {
  assert.throws(() => protobufCodec.watch!.frames().push(Uint8Array.of(0xff, 0xff, 0xff, 0xff)), DecodeError);
  const frames = jsonCodec.watch!.frames();
  assert.throws(() => {
    for (let i = 0; i < 20; i++) frames.push(new Uint8Array(1024 * 1024).fill(0x20));
  }, DecodeError);
});

test("a stream that was cut within an event is known to be", () => {
  const frames = protobufCodec.watch!.frames();
  frames.push(protobufCodec.watch!.encode(thing, { type: "ADDED", object: {} }).subarray(0, 9));
  assert.equal(frames.isPartial, true);
});
