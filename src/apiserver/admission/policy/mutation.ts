// What a MutatingAdmissionPolicy makes of an object: an apply configuration that is merged into it, or a JSON patch.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch/smd.go and
// staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch/json_patch.go.
import { MadeStruct, results } from "#api/admissionregistration/expressions.ts";
import type { MutatingAdmissionPolicy } from "#api/admissionregistration/v1/mutating-admission-policy.ts";
import { misfits } from "#schema/apply/check.ts";
import { isListShape, partOf } from "#schema/apply/compare.ts";
import { merge } from "#schema/apply/merge.ts";
import type { ApplyShape } from "#schema/apply/shape.ts";
import { jsonOfValue } from "#schema/cel/values/json.ts";
import { elementsOf } from "#schema/cel/values/list.ts";
import type { CelValue } from "#schema/cel/values/value.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { PatchError } from "#schema/patch/error.ts";
import { applyJsonPatch } from "#schema/patch/json-patch.ts";
import {
  type AdmissionExpression,
  Budget,
  compiled,
  compiledConditions,
  compiledVariables,
  evaluate,
  LazyVariables,
  type NamedExpression,
  policyBudget,
} from "./evaluation.ts";
import type { RequestVariables } from "./request-variables.ts";

export interface CompiledMutation {
  readonly type: "ApplyConfiguration" | "JSONPatch";
  readonly expression: AdmissionExpression;
}

export interface CompiledMutatingPolicy {
  readonly conditions: readonly AdmissionExpression[];
  readonly variables: readonly NamedExpression[];
  readonly mutations: readonly CompiledMutation[];
  readonly failurePolicy: string;
}

export function compileMutatingPolicy({ spec }: MutatingAdmissionPolicy): CompiledMutatingPolicy {
  const { paramKind, matchConditions = [], mutations = [], failurePolicy } = spec;
  const scope = { hasParams: paramKind !== undefined, hasAuthorizer: true };
  const { variables, types } = compiledVariables(spec.variables ?? [], scope);
  const patching = { ...scope, hasPatches: true, variables: types };
  return {
    conditions: compiledConditions(matchConditions, scope.hasParams),
    variables,
    mutations: mutations.map(({ patchType, applyConfiguration, jsonPatch }) =>
      patchType === "JSONPatch"
        ? { type: "JSONPatch", expression: compiled(jsonPatch?.expression?.trim() ?? "", patching, results.jsonPatch) }
        : {
            type: "ApplyConfiguration",
            expression: compiled(applyConfiguration?.expression?.trim() ?? "", patching, results.applyConfiguration),
          },
    ),
    failurePolicy,
  };
}

/** A patch that cannot be made or does not fit: what happens then is for the failure policy. */
export class MutationError extends Error {
  override readonly name = "MutationError";
}

/** What the expression of a mutation gives. Throws MutationError and OutOfBudget. */
export function patchValue(compiled: CompiledMutatingPolicy, index: number, variables: RequestVariables): CelValue {
  const mutation = compiled.mutations[index];
  if (!mutation) throw new Error(`there is no mutation ${index}`);
  const budget = new Budget(policyBudget);
  variables.set("variables", new LazyVariables(compiled.variables, variables, budget));
  const result = evaluate(mutation.expression, variables, budget);
  if ("error" in result) throw new MutationError(result.error);
  return result.value;
}

/** The object after the mutation, to be decoded. Throws MutationError. */
export function mutated(
  type: CompiledMutation["type"],
  value: CelValue,
  object: ApiObject,
  kind: AnyKind | undefined,
): unknown {
  return type === "JSONPatch" ? patched(value, object) : applied(value, object, kind);
}

function patched(value: CelValue, object: ApiObject): unknown {
  const operations = [...elementsOf(listOf(value))].map(operationOf);
  try {
    return applyJsonPatch(object, operations);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    // A test that fails is no error: the patch is not meant for this object.
    if (error.message.endsWith("test failed")) return object;
    throw new MutationError(`JSON Patch: ${error.message}`);
  }
}

function listOf(value: CelValue) {
  if (typeof value === "object" && value !== null && "kind" in value && value.kind === "list") return value;
  throw new MutationError("type mismatch: JSONPatchType.expression should evaluate to array");
}

function operationOf(value: CelValue): Readonly<Record<string, unknown>> {
  if (!(value instanceof MadeStruct) || value.type.name !== "JSONPatch")
    throw new MutationError("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch");
  const { op = "", path = "", from = "", value: operand } = Object.fromEntries(value.fields);
  if (operand !== undefined) checkTypeNames(operand);
  return { op, path, ...(from !== "" && { from }), ...(operand !== undefined && { value: jsonOfValue(operand) }) };
}

function applied(value: CelValue, object: ApiObject, kind: AnyKind | undefined): unknown {
  checkTypeNames(value);
  if (!kind) throw new MutationError("error applying patch: type converter must not be nil");
  const { shape } = kind.model;
  const { apiVersion, kind: name } = object;
  const patch = { ...(jsonOfValue(value) as object), apiVersion, kind: name };
  const wrong = misfits(shape, patch);
  if (wrong !== undefined)
    throw new MutationError(`error applying patch: failed to convert patch object to typed object: ${wrong}`);
  const atomics = [...atomicParts(shape, patch, "")];
  if (atomics.length > 0)
    throw new MutationError(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(", ")}`,
    );
  return merge(shape, object, patch);
}

/** What is replaced as a whole: whoever names one field of it would lose the others. */
function* atomicParts(shape: ApplyShape, value: unknown, path: string): Iterable<string> {
  const part = partOf(shape, value);
  if (part === undefined || part === "scalar" || typeof value !== "object" || value === null) return;
  if (part.atomic) yield path;
  if (isListShape(part)) {
    if (Array.isArray(value))
      for (const [i, item] of value.entries()) yield* atomicParts(part.item, item, `${path}[${i}]`);
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    const field = part.fields.get(key);
    if (field) yield* atomicParts(field.shape, inner, `${path}.${key}`);
  }
}

/** An `Object.spec{…}` must stand in the field `spec`: the types are not checked before. */
function checkTypeNames(value: CelValue): void {
  const problems = [...typeNameProblems(value, value instanceof MadeStruct ? value.type.name : "")];
  if (problems.length > 0) throw new MutationError(`type mismatch: ${problems.join("\n")}`);
}

function* typeNameProblems(value: CelValue, expected: string): Iterable<string> {
  if (typeof value !== "object" || value === null || !("kind" in value)) return;
  if (value instanceof MadeStruct) {
    const { name } = value.type;
    if (name !== expected)
      yield `unexpected type name ${JSON.stringify(name)}, expected ${JSON.stringify(expected)}, which matches field name path from root Object type`;
    for (const [field, inner] of value.fields) yield* typeNameProblems(inner, `${expected}.${field}`);
  } else if (value.kind === "list") for (const item of elementsOf(value)) yield* typeNameProblems(item, expected);
  else if (value.kind === "map" && value.type === undefined)
    for (const key of value.keys()) yield* typeNameProblems(value.find(key) ?? null, expected);
}
