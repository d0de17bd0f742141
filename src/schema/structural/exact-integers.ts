// Integers of 64 bits that a double cannot hold. Go keeps them as they were sent where nothing is known of a field but that it is a
// number, so custom resources must, too: such an integer is a bigint here, and all other numbers are numbers. What is beyond 64 bits
// becomes a double, as in Go. See docs/decisions/0120-exact-integers.md.
import { readSlowly, WrittenNumber } from "../json.ts";

/** A long run of digits, or an exponent of three, is where reading may have lost something. Found in strings, too, which costs time only. */
const mayBeRounded = /\d{16}|\d[eE]\+?\d{3}/;

/** The value that a text of JSON stands for; `parsed` is what JSON.parse makes of it. Infinite numbers are left as `WrittenNumber`. */
export const exactValue = (text: string, parsed: unknown): unknown =>
  mayBeRounded.test(text) ? readSlowly(text, exactNumber) : parsed;

function exactNumber(value: number, text: string): unknown {
  if (Number.isSafeInteger(value)) return value;
  if (!Number.isFinite(value)) return new WrittenNumber(text);
  return exactInteger(text) ?? value;
}

/** The integer in a text, where it is one of 64 bits and no number can hold it. */
export function exactInteger(text: string): bigint | undefined {
  if (!/^-?\d{1,19}$/.test(text)) return undefined;
  const exact = BigInt(text);
  return BigInt.asIntN(64, exact) === exact ? exact : undefined;
}

declare global {
  interface JSON {
    /** Makes what JSON.stringify writes as that text. TypeScript's libraries do not know it yet. */
    rawJSON(text: string): object;
  }
}

/** JSON.stringify asks a value how it is written; without an answer it refuses to write a bigint. */
Object.defineProperty(BigInt.prototype, "toJSON", {
  value(this: bigint): unknown {
    return JSON.rawJSON(String(this));
  },
  writable: true,
  configurable: true,
});
