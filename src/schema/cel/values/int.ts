// 64-bit integers. Nearly all are small, so they are JavaScript numbers; only what a number cannot hold exactly is a bigint. There is
// one form for each integer, so `===` compares them.
import { fail } from "./failure.ts";

export type Int = number | bigint;

const least = -(1n << 63n);
const most = (1n << 63n) - 1n;

/** Undefined if it is not an integer of 64 bits. */
export function toInt(value: bigint): Int | undefined {
  if (value < least || value > most) return undefined;
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : value;
}

function checked(value: bigint): Int {
  return toInt(value) ?? fail("integer overflow");
}

export function addInts(a: Int, b: Int): Int {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return checked(BigInt(a) + BigInt(b));
}

export function subtractInts(a: Int, b: Int): Int {
  if (typeof a === "number" && typeof b === "number") {
    const difference = a - b;
    if (Number.isSafeInteger(difference)) return difference;
  }
  return checked(BigInt(a) - BigInt(b));
}

export function multiplyInts(a: Int, b: Int): Int {
  if (typeof a === "number" && typeof b === "number") {
    const product = a * b;
    if (Number.isSafeInteger(product)) return product + 0; // −0 is no integer
  }
  return checked(BigInt(a) * BigInt(b));
}

export function divideInts(a: Int, b: Int): Int {
  if (b === 0) fail("division by zero");
  if (typeof a === "number" && typeof b === "number") return Math.trunc(a / b) + 0;
  return checked(BigInt(a) / BigInt(b));
}

export function moduloInts(a: Int, b: Int): Int {
  if (b === 0) fail("modulus by zero");
  if (typeof a === "number" && typeof b === "number") return (a % b) + 0;
  if (a === least && b === -1) fail("integer overflow");
  return checked(BigInt(a) % BigInt(b));
}

export function negateInt(a: Int): Int {
  return typeof a === "number" ? 0 - a : checked(-a);
}

/** The integer of a double, cut off; undefined if it is not one of 64 bits. */
export function intOfDouble(value: number): Int | undefined {
  // Upstream refuses the two ends as well: as doubles, they are not told from what is beyond them.
  if (!(Math.abs(value) < 2 ** 63)) return undefined;
  return toInt(BigInt(Math.trunc(value)));
}
