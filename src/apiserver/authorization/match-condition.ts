// Which questions an authorization webhook is asked, said in CEL about the review that it would get.
import { hasResultType } from "#schema/cel/environment.ts";
import { kubernetesEnvironment } from "#schema/cel/kubernetes.ts";
import { boolType, dynType, mapType, stringType } from "#schema/cel/types.ts";
import { valueOfJson } from "#schema/cel/values/json.ts";
import type { MatchCondition } from "./webhook.ts";

/** Throws an Error that says what is wrong with the expression. */
export function matchConditionOf(expression: string): MatchCondition {
  const variables = new Map([["request", mapType(stringType, dynType)]]);
  const program = kubernetesEnvironment().extend({ variables }).compile(expression);
  if (!hasResultType(program, boolType)) throw new Error("must evaluate to bool");
  return (spec) => program.evaluate(new Map([["request", valueOfJson(spec)]])).value === true;
}
