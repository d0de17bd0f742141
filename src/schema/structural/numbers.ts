// What is checked about numbers. Follows kube-openapi/pkg/validation/validate/{validator,values}.go, where bounds and factors are doubles,
// and values are integers of 64 bits or doubles.
import type { Limits, SchemaNode } from "./schema.ts";

export type Numeric = number | bigint;
export const isNumeric = (value: unknown): value is Numeric => typeof value === "number" || typeof value === "bigint";

/** Whether Go holds the value as an integer of 64 bits. */
export const isInt64 = (value: Numeric): boolean =>
  typeof value === "bigint" || (Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63);

const mostExact = 2 ** 53;

/** Whether a double counts as an integer: also if it is off by a billionth, but not beyond what a double tells apart. */
export function isNearlyInteger(value: number): boolean {
  if (!(value >= -mostExact && value <= mostExact - 1)) return false;
  if (Number.isInteger(value)) return true;
  const whole = Math.trunc(value);
  return whole !== 0 && Math.abs(value - whole) / Math.abs(value + whole) < 1e-9;
}

/** A problem of a number: one that names the value, or one that is as much about the schema. */
export interface NumberProblem {
  /** Given the way to the value, which may be long, and is put together only when something is wrong. */
  textFor(name: string): string;
  readonly isOfValue: boolean;
}

export function* numberProblems(node: SchemaNode, value: Numeric): Iterable<NumberProblem> {
  const { minimum, maximum, multipleOf } = node.rest.limits;
  const outside = (what: string, number: Numeric): NumberProblem[] => {
    const wrong = rangeProblem(node, number);
    const textFor = (name: string): string => `${what} value must be of type ${wrong} in ${name}`;
    return wrong === undefined ? [] : [{ textFor, isOfValue: false }];
  };
  const wrong = (text: string): NumberProblem => ({
    textFor: (name) => `${name} in body should be ${text}`,
    isOfValue: true,
  });
  yield* outside("Checked", value);
  if (multipleOf !== undefined) {
    yield* outside("MultipleOf", multipleOf);
    if (multipleOf <= 0)
      yield {
        textFor: (name) => `factor MultipleOf declared for ${name} must be positive: ${goNumber(multipleOf)}`,
        isOfValue: true,
      };
    else if (!isMultiple(value, multipleOf)) yield wrong(`a multiple of ${goNumber(multipleOf)}`);
  }
  if (minimum !== undefined) {
    yield* outside("Minimum boundary", minimum);
    if (node.rest.limits.exclusiveMinimum ? value <= minimum : value < minimum)
      yield wrong(`greater than ${orEqual(node.rest.limits, "exclusiveMinimum")}${goNumber(minimum)}`);
  }
  if (maximum !== undefined) {
    yield* outside("Maximum boundary", maximum);
    if (node.rest.limits.exclusiveMaximum ? value >= maximum : value > maximum)
      yield wrong(`less than ${orEqual(node.rest.limits, "exclusiveMaximum")}${goNumber(maximum)}`);
  }
}

const orEqual = (limits: Limits, exclusive: "exclusiveMinimum" | "exclusiveMaximum"): string =>
  limits[exclusive] ? "" : "or equal to ";

/** The type that has no room for a number; undefined if there is room. */
function rangeProblem({ types, format }: SchemaNode, value: Numeric): string | undefined {
  const [type] = types;
  if (types.length !== 1) return undefined;
  if (type === "integer") {
    const fits = isInt64(value) && (format !== "int32" || Number(value) === (Number(value) | 0));
    return fits ? undefined : `integer ${format === "" ? "(default format)" : `with format ${format}`}`;
  }
  const isTooLarge = type === "number" && format === "float" && !Number.isFinite(Math.fround(Number(value)));
  return isTooLarge ? "number with format float" : undefined;
}

function isMultiple(value: Numeric, factor: number): boolean {
  if (isInt64(value) && Number.isInteger(factor)) return BigInt(value) % BigInt(factor) === 0n;
  const number = Number(value);
  return isNearlyInteger(factor < 1 ? (1 / factor) * number : number / factor);
}

/** As Go prints a double with %v: an exponent has two digits, and begins at 21 digits or at five places behind the point. */
export function goNumber(value: number): string {
  if (value === 0 || Math.abs(value) >= 1e-4) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}
