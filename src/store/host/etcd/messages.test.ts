import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bool, bytes, type DecodedMessage, id, int, many, message, one, text, texts } from "#base/host/protobuf.ts";
import { KeyValue, rpcs } from "./messages.ts";

const Inner = message("Inner", { name: text(1), size: int(2) });
const Sample = message("Sample", {
  count: int(1),
  id: id(2),
  flag: bool(3),
  raw: bytes(4),
  name: text(5),
  inner: one(6, Inner),
  inners: many(7, Inner),
  names: texts(16),
  chosen: int(17, { oneof: true }),
});

const hex = (value: Uint8Array) => Buffer.from(value).toString("hex");
const fromHex = (value: string) => new Uint8Array(Buffer.from(value, "hex"));

test("messages are written as protocol buffers are", () => {
  const cases: [Parameters<typeof Sample.encode>[0], string][] = [
    [{}, ""],
    [{ count: 0, id: 0n, flag: false, raw: new Uint8Array(), name: "" }, ""],
    [{ count: 150 }, "089601"],
    [{ count: Number.MAX_SAFE_INTEGER }, "08ffffffffffffff0f"],
    [{ id: 2n ** 64n - 1n }, "10ffffffffffffffffff01"],
    [{ flag: true }, "1801"],
    [{ raw: Uint8Array.of(0, 255) }, "220200ff"],
    [{ name: "ä" }, "2a02c3a4"],
    [{ inner: {} }, "3200"],
    [{ inners: [{ size: 1 }, {}] }, "3a0210013a00"],
    [{ names: ["a", ""] }, "8201016182 0100".replace(" ", "")],
    [{ chosen: 0 }, "880100"],
  ];
  for (const [draft, wanted] of cases) assert.equal(hex(Sample.encode(draft)), wanted);
});

test("what is absent reads as zero, and the last of several wins", () => {
  const zero = { count: 0, id: 0n, flag: false, raw: new Uint8Array(), name: "", inner: undefined };
  assert.deepEqual(Sample.decode(new Uint8Array()), { ...zero, inners: [], names: [], chosen: 0 });
  assert.equal(Sample.decode(fromHex("08010802")).count, 2);
});

test("fields that are not declared are skipped, whatever their wire type", () => {
  // Field 9 as varint, 64 bits, bytes and 32 bits, then count = 7.
  const strange = "48ffffffffffffffffff01" + "490102030405060708" + "4a03aabbcc" + "4d01020304";
  assert.equal(Sample.decode(fromHex(`${strange}0807`)).count, 7);
});

test("what is read shares no memory with the bytes it was read from", () => {
  const source = Uint8Array.from(Sample.encode({ raw: Uint8Array.of(1, 2, 3) }));
  const { raw } = Sample.decode(source);
  source.fill(9);
  assert.deepEqual([...raw], [1, 2, 3]);
  assert.equal(raw.buffer.byteLength, 3);
});

test("bytes that are no such message are refused with a reason", () => {
  const cases: [string, RegExp][] = [
    ["08", /ends within a number/],
    ["0880", /ends within a number/],
    ["08ffffffffffffffff7f", /negative or beyond 2\^53/],
    ["08ffffffffffffffffff01", /negative or beyond 2\^53/],
    ["10ffffffffffffffffffff01", /64-bit number is too long/],
    ["48ffffffffffffffffffff01", /64-bit number is too long/],
    ["2205ff", /a field of 5 bytes, but only 1 are left/],
    ["22ffffffff0f", /but only 0 are left/],
    ["22ffffffff1f", /32-bit number is too long/],
    ["0a00", /field count has wire type 2, not 0/],
    ["00", /field number 0/],
    ["4b", /unknown wire type 3/],
    ["3203080102", /decode Inner/],
  ];
  for (const [wire, reason] of cases)
    assert.throws(
      () => Sample.decode(fromHex(wire)),
      (error) => {
        for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
          if (reason.test(cause.message)) return /^decode Sample of \d+ bytes, at \d+$/.test((error as Error).message);
        return false;
      },
      wire,
    );
});

test("numbers that are no counts are not written", () => {
  for (const count of [-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY])
    assert.throws(() => Sample.encode({ count }), RangeError);
});

const plain = { noNullPrototype: true };
const inner = fc.record({ name: fc.string({ unit: "binary" }), size: fc.maxSafeNat() }, plain);
const sample: fc.Arbitrary<DecodedMessage<typeof Sample>> = fc.record(
  {
    count: fc.maxSafeNat(),
    id: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    flag: fc.boolean(),
    raw: fc.uint8Array({ maxLength: 300 }),
    name: fc.string({ unit: "binary" }),
    inner: fc.option(inner, { nil: undefined }),
    inners: fc.array(inner),
    names: fc.array(fc.string({ unit: "binary" })),
    chosen: fc.maxSafeNat(),
  },
  plain,
);

test("what is written is read back as it was", () => {
  fc.assert(
    fc.property(sample, (value) => {
      const { inner: nested, ...rest } = value;
      assert.deepEqual(Sample.decode(Sample.encode({ ...rest, ...(nested && { inner: nested }) })), value);
    }),
  );
});

test("any bytes are read or refused with a clear error, by every message etcd may send", () => {
  const responses = [...Object.values(rpcs).map(({ response }) => response), KeyValue, Sample];
  const tampered = fc
    .tuple(sample, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }), fc.nat())
    .map(([{ inner: nested, ...rest }, changes, cut]) => {
      const wire = Uint8Array.from(Sample.encode({ ...rest, ...(nested && { inner: nested }) }));
      for (const [at, byte] of changes) wire[at % (wire.length || 1)] = byte;
      return wire.subarray(0, wire.length - (cut % (wire.length + 1)));
    });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), tampered), (wire) => {
      for (const response of responses)
        try {
          response.decode(wire);
        } catch (error) {
          assert.ok(error instanceof Error);
          assert.match(error.message, /^decode \w+ of \d+ bytes, at \d+$/);
        }
    }),
    { numRuns: 2_000 },
  );
});
