// What the fields that `scale` reads must be, whatever the schema says of them. Follows
// apiextensions-apiserver/pkg/registry/customresource/validator.go.
import type { CustomResourceSubresourceScale } from "#api/apiextensions/v1/custom-resource-definition.ts";
import { isObject } from "#base/is-object.ts";
import { invalid, type Problem } from "#schema/problem.ts";

const mostReplicas = 2 ** 31 - 1;

export function* scaleProblems(object: object, scale: CustomResourceSubresourceScale): Iterable<Problem> {
  yield* replicasProblems(object, scale.specReplicasPath);
  yield* scaleStatusProblems(object, scale);
}

export function* scaleStatusProblems(object: object, scale: CustomResourceSubresourceScale): Iterable<Problem> {
  yield* replicasProblems(object, scale.statusReplicasPath);
  const path = scale.labelSelectorPath;
  if (!path) return;
  const found = nested(object, path);
  if (found.wrong !== undefined) yield invalid(path, found.wrong, "");
  else if (found.value !== undefined && typeof found.value !== "string")
    yield invalid(path, wrongType(path, found.value, "string"), "");
}

function* replicasProblems(object: object, path: string): Iterable<Problem> {
  const { value, wrong } = nested(object, path);
  if (wrong !== undefined) yield invalid(path, wrong, 0);
  else if (value === undefined) return;
  else if (typeof value !== "bigint" && !Number.isInteger(value))
    yield invalid(path, wrongType(path, value, "int64"), 0);
  else if (Number(value) < 0) yield invalid(path, "should be a non-negative integer", value);
  else if (Number(value) > mostReplicas) yield invalid(path, `should be less than or equal to ${mostReplicas}`, value);
}

interface Nested {
  readonly value?: unknown;
  /** Why nothing can be there. */
  readonly wrong?: string;
}

/** The value at a path, as Go's accessors of unstructured objects find it. */
function nested(object: object, path: string): Nested {
  const names = path.replace(/^\./, "").split(".");
  let value: unknown = object;
  for (const [i, name] of names.entries()) {
    if (!isObject(value)) return { wrong: wrongType(names.slice(0, i + 1).join("."), value, "map[string]interface{}") };
    if (!Object.hasOwn(value, name)) return {};
    value = value[name];
  }
  return { value };
}

const wrongType = (path: string, value: unknown, expected: string): string =>
  `.${path.replace(/^\./, "")} accessor error: ${goText(value)} is of the type ${goType(value)}, expected ${expected}`;

const goText = (value: unknown): string =>
  value === null ? "<nil>" : typeof value === "object" ? JSON.stringify(value) : String(value);

function goType(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  if (typeof value === "object") return "map[string]interface {}";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return typeof value === "boolean" ? "bool" : "string";
}
