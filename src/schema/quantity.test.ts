import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  addQuantity,
  canonicalQuantity,
  compareQuantity,
  formatQuantity,
  milliQuantityOf,
  multiplyQuantity,
  negateQuantity,
  parseQuantity,
  type Quantity,
  QuantityError,
  quantityMilliValue,
  quantityOf,
  quantityToNumber,
  quantityValue,
  roundQuantityUp,
  scaledValue,
  subtractQuantity,
  zeroQuantity,
} from "./quantity.ts";

const formatWrong = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

test("canonical text is what upstream writes", () => {
  const table: [string | number, string][] = [
    ["0", "0"],
    ["0Ki", "0"],
    ["-0", "0"],
    ["0m", "0"],
    [".", "0"],
    ["-", "0"],
    ["Ki", "0"],
    ["e3", "0"],
    ["1", "1"],
    ["100m", "100m"],
    ["1000m", "1"],
    ["1500m", "1500m"],
    ["1.5", "1500m"],
    ["0.5", "500m"],
    [".5", "500m"],
    ["0.1", "100m"],
    ["1000", "1k"],
    ["100", "100"],
    ["1e3", "1e3"],
    ["1E3", "1E3"],
    ["1e4", "10e3"],
    ["1E-3", "1E-3"],
    ["1.3E+6", "1300e3"],
    ["1.5Gi", "1536Mi"],
    ["1Gi", "1Gi"],
    ["1024Mi", "1Gi"],
    ["1024Ki", "1Mi"],
    ["512Mi", "512Mi"],
    ["8Gi", "8Gi"],
    ["2000Mi", "2000Mi"],
    ["0.5Mi", "512Ki"],
    ["0.5Ki", "512"],
    ["0.05Gi", "53687091200m"],
    ["100.035Ki", "102435840m"],
    ["0.000000000001Ki", "2n"],
    ["-0.5Ki", "-512"],
    ["9Ei", "9223372036854775807"],
    ["7Ei", "7Ei"],
    ["9223372036854775807Ki", "9223372036854775807"],
    ["12E", "12E"],
    ["3.001n", "4n"],
    ["0.0000000001", "1n"],
    ["1.1E-9", "2e-9"],
    ["1e-400", "1e-9"],
    ["0.00000012345", "124n"],
    ["-3.001n", "-4n"],
    ["100.035k", "100.035k"],
    ["10.035M", "10.035M"],
    ["10.0350M", "10035k"],
    ["1.G", "1.G"],
    // Upstream takes these for canonical and returns them as they are.
    ["+1", "+1"],
    ["1.500", "1.500"],
    ["0100", "0100"],
    ["+10Ti", "+10Ti"],
    ["+100Ti", "100Ti"],
    ["9223372036854775808", "9223372036854775808"],
    ["1e21", "1e21"],
    [1, "1"],
    [0.5, "500m"],
    [1000, "1k"],
    [-2, "-2"],
    [1e21, "1e+21"],
    [" 1Gi ", "1Gi"],
    ["\t2000m\n", "2"],
  ];
  for (const [input, expected] of table)
    assert.equal(canonicalQuantity(input), expected, `of ${JSON.stringify(input)}`);
});

test("amounts beyond the largest suffix keep it instead of losing it", () => {
  assert.equal(canonicalQuantity("1000E"), "1000E");
  assert.equal(canonicalQuantity("1234567000E"), "1234567000E");
  assert.equal(formatQuantity(multiplyQuantity(parseQuantity("4Ei"), 2048)), "8192Ei");
});

test("text that is no quantity is refused in upstream's words", () => {
  for (const text of ["", "1.1.M", "1+1.0M", "0.1am", "aoeu", " 1", "1 ", "Non-Numeric", "1,5", "１", "NaN"])
    assert.throws(() => parseQuantity(text), { name: "QuantityError", message: formatWrong }, text);
  for (const text of ["0.1mi", ".5i", "1i", "-3.01i", "-3.01e-", "--1", "1KiM", "1ee3", "1mm", "1-3"])
    assert.throws(() => parseQuantity(text), { message: "unable to parse quantity's suffix" }, text);
  for (const text of ["Ei", "-.Pi", ".e-10"])
    assert.throws(() => parseQuantity(text), { message: "unable to parse numeric part of quantity" }, text);
  assert.throws(() => parseQuantity(Number.NaN), QuantityError);
  assert.throws(() => parseQuantity(Number.POSITIVE_INFINITY), QuantityError);
});

test("numbers made to keep the server busy are refused", () => {
  for (const text of ["1e2147483647", "1e-99999999999", "9".repeat(100_000), `1e${"9".repeat(100_000)}`])
    assert.throws(() => canonicalQuantity(text), QuantityError);
  assert.throws(() => canonicalQuantity(`${"1".repeat(1_000_000)}x`), QuantityError);
});

test("arithmetic keeps the format of the left side, unless that is zero", () => {
  const q = parseQuantity;
  assert.equal(formatQuantity(addQuantity(q("100m"), q("1"))), "1100m");
  assert.equal(formatQuantity(addQuantity(q("1Gi"), q("1Mi"))), "1025Mi");
  assert.equal(formatQuantity(addQuantity(q("0"), q("1Gi"))), "1Gi");
  assert.equal(formatQuantity(addQuantity(q("1Gi"), q("0"))), "1Gi");
  assert.equal(formatQuantity(subtractQuantity(q("0"), q("1Gi"))), "-1Gi");
  assert.equal(formatQuantity(subtractQuantity(q("1"), q("1"))), "0");
  assert.equal(formatQuantity(negateQuantity(q("5m"))), "-5m");
  assert.equal(formatQuantity(multiplyQuantity(q("250m"), 4)), "1");
  assert.equal(formatQuantity(quantityOf(1024, "BinarySI")), "1Ki");
  assert.equal(formatQuantity(quantityOf(1023, "BinarySI")), "1023");
  assert.equal(formatQuantity(milliQuantityOf(1_100_000, "BinarySI")), "1100");
  assert.equal(formatQuantity(milliQuantityOf(2_048_001, "BinarySI")), "2048001m");
  assert.equal(compareQuantity(q("1Gi"), q("1G")), 1);
  assert.equal(compareQuantity(q("1000m"), q("1")), 0);
  assert.equal(compareQuantity(q("10000T"), q("100Gi")), 1);
  assert.equal(compareQuantity(q("-1"), zeroQuantity), -1);
});

test("values are rounded away from zero", () => {
  const q = parseQuantity;
  const table: [string, number, string][] = [
    ["9.01", -3, "9010m"],
    ["9.01", -1, "9100m"],
    ["9.01", 0, "10"],
    ["9.01", 2, "100"],
    ["-9.01", -2, "-9010m"],
    ["-9.01", 0, "-10"],
    ["-9.01", 2, "-100"],
  ];
  for (const [text, scale, expected] of table) assert.equal(formatQuantity(roundQuantityUp(q(text), scale)), expected);
  assert.equal(quantityValue(q("1.1")), 2n);
  assert.equal(quantityValue(q("-1.1")), -2n);
  assert.equal(quantityValue(q("2Gi")), 2n ** 31n);
  assert.equal(quantityMilliValue(q("0.0001")), 1n);
  assert.equal(quantityMilliValue(q("12")), 12_000n);
  assert.equal(scaledValue(q("1M"), 3), 1000n);
  assert.equal(quantityToNumber(q("1500m")), 1.5);
  assert.equal(quantityToNumber(q("1Ei")), 2 ** 60);
});

const suffixes = [
  "",
  "n",
  "u",
  "m",
  "k",
  "M",
  "G",
  "T",
  "P",
  "E",
  "Ki",
  "Mi",
  "Gi",
  "Ti",
  "Pi",
  "Ei",
  "e3",
  "E-2",
  "e+7",
];
const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 14 });
const quantityText = fc
  .tuple(fc.constantFrom("", "-", "+"), digits, fc.option(digits), fc.constantFrom(...suffixes))
  .map(([sign, whole, fraction, suffix]) => sign + whole + (fraction === null ? "" : `.${fraction}`) + suffix)
  .filter((text) => /^[+-]?\.?\d/.test(text));

/** The number as billionths, computed from the text in the plainest way, rounded and capped as the documentation has it. */
function nanosOf(text: string): bigint {
  const [, sign, whole, fraction, suffix] = /^([+-]?)(\d*)(?:\.(\d*))?(.*)$/.exec(text)!;
  const unscaled = BigInt((whole ?? "") + (fraction ?? "") || "0");
  let numerator = unscaled * 10n ** 9n;
  let denominator = 10n ** BigInt((fraction ?? "").length);
  const binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].indexOf(suffix!);
  const decimal = "num kMGTPE".indexOf(suffix!);
  if (binary >= 0) numerator *= 2n ** BigInt(10 * (binary + 1));
  else {
    const exponent = /^[eE]./.test(suffix!) ? Number(suffix!.slice(1)) : suffix === "" ? 0 : 3 * decimal - 9;
    if (exponent > 0) numerator *= 10n ** BigInt(exponent);
    else denominator *= 10n ** BigInt(-exponent);
  }
  let nanos = numerator / denominator + (numerator % denominator === 0n ? 0n : 1n);
  const most = (2n ** 63n - 1n) * 10n ** 9n;
  if (binary >= 0 && nanos > most) nanos = most;
  return sign === "-" ? -nanos : nanos;
}
const nanos = (quantity: Quantity): bigint => scaledValue(quantity, -9);

test("any quantity is the number it says, and stays it when written and read", () => {
  fc.assert(
    fc.property(quantityText, (text) => {
      const parsed = parseQuantity(text);
      assert.equal(nanos(parsed), nanosOf(text));
      const canonical = canonicalQuantity(text);
      assert.equal(nanos(parseQuantity(formatQuantity(parsed))), nanos(parsed));
      assert.equal(nanos(parseQuantity(canonical)), nanos(parsed));
      assert.equal(canonicalQuantity(canonical), canonical);
    }),
    { numRuns: 5000 },
  );
});

test("what is written has the largest suffix that leaves no fraction", () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }),
      fc.integer({ min: -9, max: 6 }),
      (unscaled, scale) => {
        const decimal = formatQuantity({ unscaled, scale, format: "DecimalSI" });
        assert.match(decimal, /^(0|-?[1-9]\d*[numkMGTPE]?)$/);
        assert.ok(!/000[numkMGTP]?$/.test(decimal), decimal);
        const binary = formatQuantity({ unscaled, scale: 0, format: "BinarySI" });
        const [, mantissa] = /^(0|-?[1-9]\d*)(?:([KMGTP]i)|Ei|[kMGTPE])?$/.exec(binary)!;
        if (/[KMGTP]i$/.test(binary)) assert.notEqual(BigInt(mantissa!) % 1024n, 0n);
      },
    ),
  );
});

test("arithmetic agrees with exact rational numbers", () => {
  fc.assert(
    fc.property(quantityText, quantityText, fc.integer({ min: -1000, max: 1000 }), (left, right, times) => {
      const [a, b] = [parseQuantity(left), parseQuantity(right)];
      assert.equal(nanos(addQuantity(a, b)), nanos(a) + nanos(b));
      assert.equal(nanos(subtractQuantity(a, b)), nanos(a) - nanos(b));
      assert.equal(nanos(multiplyQuantity(a, times)), nanos(a) * BigInt(times));
      assert.equal(Math.sign(compareQuantity(a, b)), nanos(a) < nanos(b) ? -1 : nanos(a) > nanos(b) ? 1 : 0);
      const milli = nanos(a) / 10n ** 6n;
      assert.equal(quantityMilliValue(a) - milli, nanos(a) % 10n ** 6n === 0n ? 0n : nanos(a) > 0n ? 1n : -1n);
    }),
    { numRuns: 2000 },
  );
});

test("the quick answer is the thorough one", () => {
  const plain = fc.tuple(digits, fc.constantFrom(...suffixes)).map(([number, suffix]) => number + suffix);
  fc.assert(
    fc.property(plain, (text) => {
      if (!/^\d/.test(text)) return;
      assert.equal(canonicalQuantity(text), formatQuantity(parseQuantity(text)));
    }),
    { numRuns: 5000 },
  );
});

test("any text is read or refused with a QuantityError", () => {
  const hostile = fc.oneof(
    fc.string({ unit: fc.constantFrom(..."0123456789.+-eEinumkKMGTP x"), maxLength: 30 }),
    fc.string({ unit: "binary", maxLength: 20 }),
  );
  fc.assert(
    fc.property(hostile, (text) => {
      try {
        canonicalQuantity(text);
      } catch (error) {
        assert.ok(error instanceof QuantityError, String(error));
      }
    }),
    { numRuns: 10_000 },
  );
});

test("the canonical form is final, also of binary amounts that are no multiple of 1024", () => {
  assert.equal(canonicalQuantity("62.5Ki"), "64k");
  assert.equal(canonicalQuantity("64000"), "64k");
  assert.equal(canonicalQuantity("1.5Gi"), "1536Mi");
});
