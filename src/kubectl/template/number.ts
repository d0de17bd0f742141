// Numbers of templates: the literal decides which of Go's types it can be. Follows newNumber in text/template/parse/node.go.
import { goQuote, unescapeLetter } from "../go/quote.ts";
import { GoComplex } from "../go/value.ts";
import type { NumberNode } from "./nodes.ts";

const smallest = -(2n ** 63n);
const largest = 2n ** 63n - 1n;

/** The node, or what is wrong with the literal. */
export function readNumber(
  literal: string,
  at: number,
  type: "charConstant" | "complex" | "number",
): NumberNode | string {
  const node = { type: "number", at, literal } as const;
  if (type === "charConstant") {
    const letter = unescapeLetter(literal, 1, "'");
    if (!letter) return "invalid syntax";
    if (literal.slice(letter.end) !== "'") return `malformed character constant: ${literal}`;
    return { ...node, int: BigInt(letter.code), float: letter.code, complex: undefined };
  }
  if (type === "complex") return readComplex(node);
  if (literal.endsWith("i")) {
    const imaginary = readFloat(literal.slice(0, -1));
    if (imaginary !== undefined) return { ...node, ...fromComplex(new GoComplex(0, imaginary)) };
  }
  const int = readInteger(literal);
  if (int !== undefined && int >= smallest && int <= largest)
    return { ...node, int, float: Number(int), complex: undefined };
  // Up to 2^64 it is an unsigned number, which no argument of ours takes.
  if (int !== undefined && int > largest && int < 2n ** 64n)
    return { ...node, int: undefined, float: undefined, complex: undefined };
  const float = readFloat(literal);
  if (float === undefined) return `illegal number syntax: ${goQuote(literal)}`;
  if (!/[.eEpP]/.test(literal)) return `integer overflow: ${goQuote(literal)}`;
  const isWhole = Number.isInteger(float) && Math.abs(float) < 2 ** 63;
  return { ...node, int: isWhole ? BigInt(float) : undefined, float, complex: undefined };
}

function readComplex(node: {
  readonly type: "number";
  readonly at: number;
  readonly literal: string;
}): NumberNode | string {
  const [, real = "", imaginary = ""] = /^(.*?[^eEpP])([+-].*)i$/.exec(node.literal) ?? [];
  const a = readFloat(real);
  const b = readFloat(imaginary);
  if (a === undefined || b === undefined) return "expected integer";
  return { ...node, ...fromComplex(new GoComplex(a, b)) };
}

const fromComplex = (complex: GoComplex): Pick<NumberNode, "int" | "float" | "complex"> => ({
  complex,
  float: complex.imaginary === 0 ? complex.real : undefined,
  int: complex.imaginary === 0 && Number.isInteger(complex.real) ? BigInt(complex.real) : undefined,
});

/** Underscores may stand between digits, and after the prefix of a base. */
const integerSyntax =
  /^([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)$/;

function readInteger(literal: string): bigint | undefined {
  const [, sign, digits] = integerSyntax.exec(literal) ?? [];
  if (digits === undefined) return undefined;
  const bare = digits.replaceAll("_", "").toLowerCase();
  const isOctal = /^0[0-7]+$/.test(bare);
  const size = BigInt(isOctal ? `0o${bare.slice(1)}` : bare);
  return sign === "-" ? -size : size;
}

function readFloat(literal: string): number | undefined {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(literal)) {
    const value = Number(literal);
    return Number.isFinite(value) ? value : undefined;
  }
  const [, sign, whole = "", fraction = "", power] =
    /^([+-]?)0[xX]([0-9a-fA-F_]*)\.?([0-9a-fA-F_]*)[pP]([+-]?\d+)$/.exec(literal) ?? [];
  const digits = (whole + fraction).replaceAll("_", "");
  if (power === undefined || digits === "") return undefined;
  const value = Number(BigInt(`0x${digits}`)) * 2 ** (Number(power) - 4 * fraction.replaceAll("_", "").length);
  return Number.isFinite(value) ? (sign === "-" ? -value : value) : undefined;
}
