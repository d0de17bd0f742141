// A number, or a percentage of something: `maxUnavailable: 1` or `maxUnavailable: 25%`.

export class PercentError extends Error {
  override readonly name = "PercentError";
}

export type Rounding = "up" | "down";

/** The number itself, or that many hundredths of `total`. Throws PercentError for any text but a percentage. */
export function scaledValueOf(value: number | string, total: number, rounding: Rounding): number {
  if (typeof value === "number") return value;
  const exact = (percentOf(value) * total) / 100;
  return rounding === "up" ? Math.ceil(exact) : Math.floor(exact);
}

/** The number in front of the percent sign. Throws PercentError. */
export function percentOf(text: string): number {
  if (!text.endsWith("%"))
    throw new PercentError("invalid value for IntOrString: invalid type: string is not a percentage");
  const digits = text.slice(0, -1);
  const refusal = (why: string) =>
    new PercentError(
      `invalid value for IntOrString: invalid value ${JSON.stringify(text)}: strconv.Atoi: parsing ${JSON.stringify(digits)}: ${why}`,
    );
  if (!/^[+-]?[0-9]+$/.test(digits)) throw refusal("invalid syntax");
  if (digits.replace(/^[+-]?0*/, "").length > 19) throw refusal("value out of range");
  const value = BigInt(digits.replace(/^\+/, ""));
  if (value !== BigInt.asIntN(64, value)) throw refusal("value out of range");
  return Number(value);
}

/** The number a text stands for, or 0 where it is none: as ports are read that may also be names. */
export const intValueOf = (value: number | string): number => {
  if (typeof value === "number") return value;
  return /^[+-]?[0-9]{1,15}$/.test(value) ? Number(value) : 0;
};
