import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bitsOf, cidrsIn, cidrsOf, familiesOf, overlap, parseRanges } from "./ranges.ts";

test("ranges are networks, spans or single addresses, and several with commas", () => {
  const cases: readonly [string, readonly string[] | undefined][] = [
    ["10.96.0.0/16", ["10.96.0.0/16"]],
    ["10.96.7.8/16", ["10.96.0.0/16"]],
    ["172.31.255.10-172.31.255.13", ["172.31.255.10/31", "172.31.255.12/31"]],
    ["172.31.255.1-172.31.255.4", ["172.31.255.1/32", "172.31.255.2/31", "172.31.255.4/32"]],
    ["10.0.0.1", ["10.0.0.1/32"]],
    ["10.0.0.0/24, 10.0.2.0/24", ["10.0.0.0/24", "10.0.2.0/24"]],
    ["10.96.0.0/16,fd00:96::/108", ["10.96.0.0/16", "fd00:96::/108"]],
    ["0.0.0.0/0", ["0.0.0.0/0"]],
    ["fd00::1-fd00::4", ["fd00::1/128", "fd00::2/127", "fd00::4/128"]],
    ["::/0", ["::/0"]],
    ["10.0.0.9-10.0.0.1", undefined],
    ["10.0.0.1-fd00::1", undefined],
    ["1.2.3.4-1.2.3.5-1.2.3.6", undefined],
    ["", undefined],
    ["10.0.0.0/33", undefined],
    ["everything", undefined],
  ];
  for (const [text, cidrs] of cases) assert.deepEqual(parseRanges(text)?.flatMap(cidrsOf), cidrs, text);
  assert.throws(() => cidrsIn("service range", "x"), /service range "x" is no network/);
});

test("families are told in the order in which a text names them", () => {
  assert.deepEqual(familiesOf("fd00:244::/56,10.244.0.0/16"), [6, 4]);
  assert.deepEqual(familiesOf("10.0.0.1-10.0.0.9, 10.1.0.0/16"), [4]);
  assert.equal(familiesOf("all"), undefined);
  const [v4, v6] = [{ family: 4, first: 0n, last: 9n } as const, { family: 6, first: 0n, last: 9n } as const];
  assert.equal(overlap(v4, v6), false, "the numbers of addresses of two families mean nothing to each other");
});

test("the networks of a range are the range, each address once", () => {
  const ends = ([4, 6] as const).map((family) => {
    const address = fc.bigInt({ min: 0n, max: 2n ** BigInt(bitsOf(family)) - 1n });
    return fc.tuple(fc.constant(family), address, address);
  });
  fc.assert(
    fc.property(fc.oneof(...ends), ([family, a, b]) => {
      const whole = { family, ...(a < b ? { first: a, last: b } : { first: b, last: a }) };
      let next = whole.first;
      for (const { first, last } of cidrsOf(whole).flatMap((cidr) => parseRanges(cidr) ?? [])) {
        assert.equal(first, next);
        next = last + 1n;
      }
      assert.equal(next, whole.last + 1n);
      assert.ok(overlap(whole, { family, first: whole.last, last: whole.last }));
    }),
  );
});
