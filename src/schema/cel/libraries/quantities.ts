// Amounts of resources. Follows apiserver/pkg/cel/library/quantity.go.
import {
  addQuantity,
  compareQuantity,
  parseQuantity,
  type Quantity,
  QuantityError,
  quantityOf,
  quantityToNumber,
  subtractQuantity,
} from "../../quantity.ts";
import { fn, global, type Library, member } from "../declarations.ts";
import { boolType, doubleType, intType, stringType, structType } from "../types.ts";
import { Double } from "../values/double.ts";
import { fail } from "../values/failure.ts";
import { type Int, toInt } from "../values/int.ts";
import type { OpaqueValue } from "../values/value.ts";

export const quantityType = structType("kubernetes.Quantity");

export class QuantityValue implements OpaqueValue {
  readonly kind = "opaque";
  readonly type = quantityType;
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    this.quantity = quantity;
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof QuantityValue && compareQuantity(this.quantity, other.quantity) === 0;
  }
}

function parsed(text: string): Quantity | string {
  try {
    return parseQuantity(text);
  } catch (error) {
    if (error instanceof QuantityError) return error.message;
    throw error;
  }
}

function toQuantity(text: string): QuantityValue {
  const quantity = parsed(text);
  return typeof quantity === "string" ? fail(quantity) : new QuantityValue(quantity);
}

/** The integer it is, undefined if it is none of 64 bits. */
function asInteger({ quantity: { unscaled, scale } }: QuantityValue): Int | undefined {
  if (scale >= 0) return scale > 18 && unscaled !== 0n ? undefined : toInt(unscaled * 10n ** BigInt(scale));
  const divisor = 10n ** BigInt(-scale);
  return unscaled % divisor === 0n ? toInt(unscaled / divisor) : undefined;
}

const compare = (a: QuantityValue, b: QuantityValue) => Math.sign(compareQuantity(a.quantity, b.quantity));
const two = [quantityType, quantityType];
const withInt = [quantityType, intType];

export const quantities: Library = {
  types: [quantityType],
  functions: [
    fn("quantity", global("string_to_quantity", [stringType], quantityType, toQuantity)),
    fn(
      "isQuantity",
      global("is_quantity_string", [stringType], boolType, (text: string) => typeof parsed(text) !== "string"),
    ),
    // Upstream declares it as a function, not as a method.
    fn(
      "sign",
      global(
        "quantity_sign",
        [quantityType],
        intType,
        (value: QuantityValue) => Number(value.quantity.unscaled > 0n) - Number(value.quantity.unscaled < 0n),
      ),
    ),
    fn(
      "isGreaterThan",
      member("quantity_is_greater_than", two, boolType, (a: QuantityValue, b: QuantityValue) => compare(a, b) > 0),
    ),
    fn(
      "isLessThan",
      member("quantity_is_less_than", two, boolType, (a: QuantityValue, b: QuantityValue) => compare(a, b) < 0),
    ),
    fn("compareTo", member("quantity_compare_to", two, intType, compare)),
    fn(
      "asApproximateFloat",
      member(
        "quantity_get_float",
        [quantityType],
        doubleType,
        (value: QuantityValue) => new Double(quantityToNumber(value.quantity)),
      ),
    ),
    fn(
      "asInteger",
      member(
        "quantity_get_int",
        [quantityType],
        intType,
        (value: QuantityValue) => asInteger(value) ?? fail("cannot convert value to integer"),
      ),
    ),
    fn(
      "isInteger",
      member("quantity_is_integer", [quantityType], boolType, (value: QuantityValue) => asInteger(value) !== undefined),
    ),
    fn(
      "add",
      member(
        "quantity_add",
        two,
        quantityType,
        (a: QuantityValue, b: QuantityValue) => new QuantityValue(addQuantity(a.quantity, b.quantity)),
      ),
      member(
        "quantity_add_int",
        withInt,
        quantityType,
        (a: QuantityValue, b: Int) => new QuantityValue(addQuantity(a.quantity, quantityOf(b))),
      ),
    ),
    fn(
      "sub",
      member(
        "quantity_sub",
        two,
        quantityType,
        (a: QuantityValue, b: QuantityValue) => new QuantityValue(subtractQuantity(a.quantity, b.quantity)),
      ),
      member(
        "quantity_sub_int",
        withInt,
        quantityType,
        (a: QuantityValue, b: Int) => new QuantityValue(subtractQuantity(a.quantity, quantityOf(b))),
      ),
    ),
  ],
};
