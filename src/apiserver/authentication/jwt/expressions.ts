// Expressions of configurations, in CEL: about the claims of a token, and about the user that they make.
import { hasResultType } from "#schema/cel/environment.ts";
import { kubernetesEnvironment } from "#schema/cel/kubernetes.ts";
import { boolType, type CelType, dynType, listType, mapType, stringType } from "#schema/cel/types.ts";
import { jsonOfValue, valueOfJson } from "#schema/cel/values/json.ts";
import type { ExpressionCompiler } from "./settings.ts";

const resultTypes: Readonly<Record<"bool" | "string" | "list", readonly CelType[]>> = {
  bool: [boolType],
  string: [stringType],
  list: [listType(stringType), listType(dynType)],
};

export const expressionCompiler: ExpressionCompiler = {
  compile(text, variable, results) {
    const variables = new Map([[variable, mapType(stringType, dynType)]]);
    const program = kubernetesEnvironment().extend({ variables }).compile(text);
    const isBool = results.includes("bool");
    const types = [...results.flatMap((name) => resultTypes[name]), ...(isBool ? [] : [dynType])];
    if (!hasResultType(program, ...types)) throw new Error(`must evaluate to ${results.join(" or ")}`);
    return (value) => jsonOfValue(program.evaluate(new Map([[variable, valueOfJson(value)]])).value);
  },
};
