// How kustomizations merge: like strategic merge patches, but what a patch adds to a list comes first
// (upstream: kustomize/kyaml/yaml/merge2).
import { isObject } from "#base/is-object.ts";
import type { Type } from "#schema/field.ts";
import { PatchError } from "#schema/patch/error.ts";
import { listMerge, objectMerge } from "#schema/patch/strategic-schema.ts";
import { builtInStruct } from "../apply/built-in-struct.ts";
import type { KubeObject } from "../rest/client.ts";

type Json = Readonly<Record<string, unknown>>;

/** The object with the patch on it; undefined if the patch deletes it. */
export function mergedResource(object: KubeObject, patch: KubeObject): KubeObject | undefined {
  const struct = builtInStruct(object);
  return mergedObject(object, patch, struct && { is: "struct", struct: () => struct }) as KubeObject | undefined;
}

function mergedObject(object: Json, patch: Json, type: Type | undefined): Json | undefined {
  const { $patch: directive, ...fields } = patch;
  if (directive === "delete") return undefined;
  if (directive === "replace") return withoutNulls(fields) as Json;
  const merged: Record<string, unknown> = { ...object };
  for (const [key, value] of Object.entries(fields)) {
    const before = Object.hasOwn(merged, key) ? merged[key] : undefined;
    const after = mergedValue(before, value, type, key);
    if (after === undefined) delete merged[key];
    else merged[key] = after;
  }
  return merged;
}

function mergedValue(before: unknown, value: unknown, type: Type | undefined, key: string): unknown {
  if (value === null) return undefined;
  if (isObject(value)) return mergedObject(isObject(before) ? before : {}, value, fieldType(type, key));
  if (Array.isArray(value)) return mergedList(Array.isArray(before) ? before : [], value, type, key);
  return value;
}

function fieldType(type: Type | undefined, key: string): Type | undefined {
  if (!type || type.is === "map") return undefined;
  try {
    return objectMerge(type, key).type;
  } catch (error) {
    if (error instanceof PatchError) return undefined; // a field that nobody knows has no rules
    throw error;
  }
}

function mergedList(
  before: readonly unknown[],
  value: readonly unknown[],
  type: Type | undefined,
  key: string,
): unknown {
  const rule = listRule(type, key);
  const isReplaced = value.some((item) => isObject(item) && item.$patch === "replace");
  if (!rule || isReplaced)
    return value.filter((item) => !(isObject(item) && item.$patch === "replace")).map(withoutNulls);
  if (rule.mergeKey === "") return [...new Set([...before, ...value])];
  const keyOf = (item: unknown) => (isObject(item) ? item[rule.mergeKey] : undefined);
  const merged = before.flatMap((item) => {
    const change = value.find((one) => keyOf(one) === keyOf(item));
    if (!isObject(change) || !isObject(item)) return [item];
    const result = mergedObject(item, change, rule.type);
    return result === undefined ? [] : [result];
  });
  const added = value.filter(
    (item) => !(isObject(item) && item.$patch === "delete") && !before.some((one) => keyOf(one) === keyOf(item)),
  );
  return [...added.map(withoutNulls), ...merged];
}

function listRule(type: Type | undefined, key: string) {
  if (!type || type.is === "map") return undefined;
  try {
    const rule = listMerge(type, key);
    return rule.strategy === "merge" ? rule : undefined;
  } catch (error) {
    if (error instanceof PatchError) return undefined;
    throw error;
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) => (one === null || key === "$patch" ? [] : [[key, withoutNulls(one)]])),
  );
}
