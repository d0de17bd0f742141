import { fail } from "./failure.ts";

const most = (1n << 64n) - 1n;

/** An unsigned integer of 64 bits. */
export class Uint {
  readonly kind = "uint";
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** Fails if it is not an unsigned integer of 64 bits. */
export function toUint(value: bigint): Uint {
  if (value < 0n || value > most) fail("unsigned integer overflow");
  return new Uint(value);
}
