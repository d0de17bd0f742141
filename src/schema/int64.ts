// Whole numbers of 64 bits in texts, such as the counters in annotations: exactly, as Go's strconv reads them.

/** The number, or undefined if the text is none, or one that 64 bits cannot hold. */
export function parseInt64(text: string): bigint | undefined {
  const digits = /^([+-]?)0*([0-9]{1,19})$/.exec(text);
  if (!digits) return undefined;
  const value = BigInt(digits[2] ?? "") * (digits[1] === "-" ? -1n : 1n);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** What Go says of a text that is no such number. */
export const int64Problem = (text: string): string =>
  `strconv.ParseInt: parsing ${JSON.stringify(text)}: ${/^[+-]?[0-9]+$/.test(text) ? "value out of range" : "invalid syntax"}`;

/** One more. After the last number it goes on with the first, as in Go. */
export const nextInt64 = (value: bigint): bigint => BigInt.asIntN(64, value + 1n);
