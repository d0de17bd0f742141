// Expressions at random, most of which mean something: for the tests that no expression does harm.
import fc from "fast-check";
import { CompilationError, EvaluationError } from "../cel/environment.ts";
import { kubernetesEnvironment } from "../cel/kubernetes.ts";
import { dynType, intType, listType, mapType, stringType } from "../cel/types.ts";
import { valueOfJson } from "../cel/values/json.ts";

const atoms = [
  "1",
  "0",
  "-1",
  "9223372036854775807",
  "2u",
  "1.5",
  "true",
  "false",
  "null",
  '"a"',
  '"\\u00e4b"',
  "b'x'",
  "x",
  "s",
  "l",
  "m",
  "d",
  "[]",
  "{}",
  "[1, 2]",
  '{"a": 1}',
  "duration('1h')",
  "timestamp('2020-01-01T00:00:00Z')",
  "int",
  "optional.none()",
  "zz",
];
const binary = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||"];
const methods = [
  "size",
  "first",
  "reverse",
  "sum",
  "min",
  "isSorted",
  "trim",
  "hasValue",
  "value",
  "getHours",
  "sort",
  "distinct",
  "flatten",
];
const methodsOfOne = [
  "contains",
  "startsWith",
  "matches",
  "split",
  "join",
  "indexOf",
  "orValue",
  "find",
  "format",
  "lastIndexOf",
];
const functions = [
  "size",
  "string",
  "int",
  "double",
  "type",
  "dyn",
  "url",
  "ip",
  "quantity",
  "semver",
  "cidr",
  "isIP",
  "lists.range",
  "optional.of",
];
const macros = ["all", "exists", "exists_one", "map", "filter", "sortBy"];

/** Expressions of any depth, some of them broken by characters thrown in. */
export const expression: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.letrec((tie) => ({
      expr: fc.oneof(
        { maxDepth: 4, depthSize: "small" },
        fc.constantFrom(...atoms),
        fc.tuple(tie("expr"), fc.constantFrom(...binary), tie("expr")).map((parts) => `(${parts.join(" ")})`),
        fc.tuple(tie("expr"), fc.constantFrom(...methods)).map(([target, name]) => `${target}.${name}()`),
        fc
          .tuple(tie("expr"), fc.constantFrom(...methodsOfOne), tie("expr"))
          .map(([target, name, arg]) => `${target}.${name}(${arg})`),
        fc.tuple(fc.constantFrom(...functions), tie("expr")).map(([name, arg]) => `${name}(${arg})`),
        fc
          .tuple(tie("expr"), fc.constantFrom(...macros), tie("expr"))
          .map(([range, name, body]) => `${range}.${name}(x, ${body})`),
        fc.tuple(tie("expr"), tie("expr"), tie("expr")).map(([test, yes, no]) => `(${test} ? ${yes} : ${no})`),
        fc.tuple(tie("expr"), tie("expr")).map(([list, index]) => `${list}[${index}]`),
        fc.tuple(tie("expr"), fc.constantFrom("a", "?a", "zz")).map(([target, field]) => `${target}.${field}`),
      ),
    })).expr as fc.Arbitrary<string>,
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.constantFrom(..."()[]{}.,?:!-+*/%<>=&|\"'\\ax1_ \n@#é"), maxLength: 40 }),
  },
);

const limit = 20_000;
const environment = kubernetesEnvironment().extend({
  variables: new Map([
    ["x", intType],
    ["s", stringType],
    ["l", listType(intType)],
    ["m", mapType(stringType, intType)],
    ["d", dynType],
  ]),
});
const variables = new Map(
  Object.entries({ x: 3, s: "a,ä", l: [3, 1], m: { a: 1 }, d: { a: [1, "b", null], c: 1.5 } }).map(([name, json]) => [
    name,
    valueOfJson(json),
  ]),
);

/** Whether it was refused, failed or had a value, and cost no more than it may and was estimated to. Anything else throws. */
export function isHarmless(source: string): boolean {
  try {
    const program = environment.compile(source);
    const { min, max } = program.estimateCost();
    const { cost } = program.evaluate(variables, limit);
    return cost <= limit && min <= max;
  } catch (error) {
    if (error instanceof CompilationError) return error.message !== "";
    if (error instanceof EvaluationError) return error.message !== "";
    throw error;
  }
}
