import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#base/random.ts";
import { formatIp } from "#schema/ip.ts";
import { freeNumber, parseAddressRanges, parsePortRange } from "./ranges.ts";

test("a range of addresses leaves out the network and the broadcast address, and keeps its lower part", () => {
  const cases: readonly [string, string, string, bigint][] = [
    ["10.96.0.0/16", "10.96.0.1", "10.96.255.254", 256n],
    ["10.96.0.0/24", "10.96.0.1", "10.96.0.254", 16n],
    ["10.96.0.0/20", "10.96.0.1", "10.96.15.254", 256n],
    ["10.96.0.0/28", "10.96.0.1", "10.96.0.14", 0n],
    ["fd00::/112", "fd00::1", "fd00::ffff", 256n],
  ];
  for (const [text, first, last, kept] of cases) {
    const [range] = parseAddressRanges(text);
    const family = range.family === "IPv4" ? 4 : 6;
    const ip = (value: bigint) => formatIp({ family, value });
    assert.deepEqual([ip(range.first), ip(range.last), range.kept], [first, last, kept]);
  }
});

test("a range of ports keeps its lower part", () => {
  const kept = (text: string) => parsePortRange(text).kept;
  assert.deepEqual(["30000-32767", "30000-30015", "30000-30100", "30000"].map(kept), [86n, 0n, 16n, 0n]);
  assert.equal(parsePortRange("30000+100").text, "30000-30100");
});

test("ranges that make no sense are refused with the reason", () => {
  const cases: readonly [() => unknown, string][] = [
    [
      () => parseAddressRanges("10.0.0.0"),
      '--service-cluster-ip-range: "10.0.0.0" is not a network such as 10.96.0.0/16',
    ],
    [
      () => parseAddressRanges("10.0.0.0/8"),
      "specified --service-cluster-ip-range is too large; for 32-bit addresses, the mask must be >= 12",
    ],
    [
      () => parseAddressRanges("10.0.0.0/16,10.1.0.0/16"),
      "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family",
    ],
    [
      () => parseAddressRanges("10.0.0.0/16,fd00::/112,10.1.0.0/16"),
      "--service-cluster-ip-range must not contain more than two entries",
    ],
    [() => parseAddressRanges("10.0.0.0/32"), "--service-cluster-ip-range: 10.0.0.0/32 has no room for a service"],
    ...["", "x", "2-1", "1-65536"].map((text): [() => unknown, string] => [
      () => parsePortRange(text),
      `--service-node-port-range: ${JSON.stringify(text)} is not a range of ports such as 30000-32767`,
    ]),
  ];
  for (const [parse, message] of cases) assert.throws(parse, { name: "UsageError", message });
});

test("the kept part is given out only when the rest is full", () => {
  const range = { first: 0n, last: 99n, kept: 10n, text: "" };
  const taken = new Set<bigint>();
  for (let i = 0; i < 100; i++) {
    const free = freeNumber(range, (number) => taken.has(number), seededRandom(i));
    assert.ok(free !== undefined && !taken.has(free) && (i < 90 ? free >= 10n : free < 10n));
    taken.add(free);
  }
  assert.equal(
    freeNumber(range, (number) => taken.has(number), seededRandom(1)),
    undefined,
  );
});
