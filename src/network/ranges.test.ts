import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cidrsIn, cidrsOf, overlap, parseRanges } from "./ranges.ts";

test("ranges are networks, spans or single addresses, and several with commas", () => {
  const cases: readonly [string, readonly string[] | undefined][] = [
    ["10.96.0.0/16", ["10.96.0.0/16"]],
    ["10.96.7.8/16", ["10.96.0.0/16"]],
    ["172.31.255.10-172.31.255.13", ["172.31.255.10/31", "172.31.255.12/31"]],
    ["172.31.255.1-172.31.255.4", ["172.31.255.1/32", "172.31.255.2/31", "172.31.255.4/32"]],
    ["10.0.0.1", ["10.0.0.1/32"]],
    ["10.0.0.0/24, 10.0.2.0/24", ["10.0.0.0/24", "10.0.2.0/24"]],
    ["10.96.0.0/16,fd00:96::/108", ["10.96.0.0/16"]],
    ["0.0.0.0/0", ["0.0.0.0/0"]],
    ["fd00::1-fd00::9", []],
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

test("the networks of a range are the range, each address once", () => {
  const address = fc.bigInt({ min: 0n, max: 2n ** 32n - 1n });
  fc.assert(
    fc.property(address, address, (a, b) => {
      const whole = a < b ? { first: a, last: b } : { first: b, last: a };
      let next = whole.first;
      for (const { first, last } of cidrsOf(whole).flatMap((cidr) => parseRanges(cidr) ?? [])) {
        assert.equal(first, next);
        next = last + 1n;
      }
      assert.equal(next, whole.last + 1n);
      assert.ok(overlap(whole, { first: whole.last, last: whole.last }));
    }),
  );
});
