// Whether the rules of a schema are expressions about its values, and cost no more than they may.
// Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go and
// staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/cel_validation.go.
import { mostInRequest } from "#schema/cel/schema-types.ts";
import { forbidden, internalError, invalid, type Problem } from "#schema/index.ts";
import { type CompiledRule, compileRules } from "#schema/structural/cel-rules.ts";
import { readSchema } from "#schema/structural/schema.ts";
import type { JSONSchemaProps } from "./json-schema.ts";
import { itemsOf, propertiesOf, valuesOf } from "./structural.ts";

type Schema = JSONSchemaProps;

/** What one expression may cost by estimate, and all of a schema together. */
const mostCostOfExpression = 10_000_000;
const mostCostOfSchema = 100_000_000;

interface Place {
  readonly isRoot: boolean;
  /** How many values of the schema an object can have at most; undefined if there is no limit. */
  readonly cardinality: number | undefined;
  /** The schema around this one whose parts cannot be told apart from one update to the next. */
  readonly uncorrelated: string | undefined;
}

/** `path` is that of the root schema. Only schemas that are sound otherwise are looked at. */
export function* checkRuleExpressions(schema: Schema, path: string): Iterable<Problem> {
  const total = new TotalCost();
  yield* checkPart(schema, path, { isRoot: true, cardinality: 1, uncorrelated: undefined }, total);
  yield* total.problems(path);
}

function* checkPart(schema: Schema, path: string, place: Place, total: TotalCost): Iterable<Problem> {
  const most = mostElements(schema);
  const cardinality = place.cardinality === undefined || most === undefined ? undefined : place.cardinality * most;
  const inside = (isCorrelated: boolean): Place => ({
    isRoot: false,
    cardinality,
    uncorrelated: isCorrelated ? place.uncorrelated : (place.uncorrelated ?? `spec.${path}`),
  });
  const isGranular = schema["x-kubernetes-map-type"] !== "atomic";
  const values = valuesOf(schema);
  if (values) yield* checkPart(values, `${path}.additionalProperties`, inside(isGranular), total);
  for (const [name, property] of propertiesOf(schema))
    yield* checkPart(property, `${path}.properties[${name}]`, inside(isGranular), total);
  const items = itemsOf(schema);
  if (items) yield* checkPart(items, `${path}.items`, inside(schema["x-kubernetes-list-type"] === "map"), total);
  if (schema["x-kubernetes-validations"]?.length) yield* checkOwnRules(schema, path, place, total);
}

/** How many parts there are of one value. */
function mostElements({ type, additionalProperties, maxProperties, maxItems }: Schema): number | undefined {
  if (type === "array") return maxItems === undefined ? undefined : Math.max(0, maxItems);
  if (type !== "object" || additionalProperties === undefined) return 1;
  return maxProperties === undefined ? undefined : Math.max(0, maxProperties);
}

function* checkOwnRules(schema: Schema, path: string, place: Place, total: TotalCost): Iterable<Problem> {
  const field = `${path}.x-kubernetes-validations`;
  const compiled = compileRules(readSchema({ ...schema }), place.isRoot);
  if (!compiled) {
    yield internalError(
      field,
      "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations",
    );
    return;
  }
  const cardinality = place.cardinality ?? mostInRequest(compiled.declared);
  for (const [i, rule] of compiled.rules.entries()) {
    yield* checkRule(rule, `${field}[${i}]`, cardinality, total);
    if (rule.usesOldSelf && place.uncorrelated !== undefined)
      yield invalid(
        `${field}[${i}].rule`,
        `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelated}`,
        rule.source.rule,
      );
    else if (!rule.usesOldSelf && rule.source.optionalOldSelf !== undefined)
      yield invalid(
        `${field}[${i}].optionalOldSelf`,
        "may not be set if oldSelf is not used in rule",
        rule.source.optionalOldSelf,
      );
  }
}

function* checkRule(compiled: CompiledRule, field: string, cardinality: number, total: TotalCost): Iterable<Problem> {
  const { rule, message } = compiled;
  if ("problem" in rule) yield invalid(`${field}.rule`, rule.problem, shownRule(compiled));
  else {
    const cost = rule.mostCost === 0 ? 0 : rule.mostCost * cardinality;
    if (cost > mostCostOfExpression)
      yield forbidden(`${field}.rule`, tooExpensive("estimated rule cost", cost / mostCostOfExpression));
    total.add(`${field}.rule`, cost);
  }
  if (!message) return;
  if ("problem" in message) yield invalid(`${field}.messageExpression`, message.problem, shownRule(compiled));
  else {
    if (message.mostCost > mostCostOfExpression)
      yield forbidden(
        `${field}.messageExpression`,
        tooExpensive("estimated messageExpression cost", message.mostCost / mostCostOfExpression),
      );
    total.add(`${field}.messageExpression`, message.mostCost);
  }
}

/** A rule as upstream shows it: with the names of its own structs. */
function shownRule({ source }: CompiledRule): object {
  return {
    Rule: source.rule,
    Message: source.message ?? "",
    MessageExpression: source.messageExpression ?? "",
    Reason: source.reason ?? null,
    FieldPath: source.fieldPath ?? "",
    OptionalOldSelf: source.optionalOldSelf ?? null,
  };
}

function tooExpensive(what: string, factor: number): string {
  const shown = factor > 100 ? "more than 100x" : `${factor < 1.5 ? factor.toFixed(6) : factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}

/** What all expressions of a schema can cost, and which of them the most. */
class TotalCost {
  #sum = 0;
  #largest: { readonly field: string; readonly cost: number }[] = [];

  add(field: string, cost: number): void {
    this.#sum += cost;
    // What is less than a hundredth of the limit is not worth naming.
    if (cost < mostCostOfSchema / 100) return;
    this.#largest = [...this.#largest, { field, cost }].sort((a, b) => b.cost - a.cost).slice(0, 4);
  }

  *problems(path: string): Iterable<Problem> {
    if (this.#sum <= mostCostOfSchema) return;
    for (const { field } of this.#largest)
      yield forbidden(
        field,
        "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
      );
    const what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    yield forbidden(path, tooExpensive(what, this.#sum / mostCostOfSchema));
  }
}
