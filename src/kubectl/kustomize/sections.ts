// Parts of a kustomization, read without trust in their form.
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../errors.ts";

export type Section = Readonly<Record<string, unknown>>;

/** The objects of a list; empty if there is none. Throws KubectlError for anything else. */
export function listOf(section: Section, key: string): readonly Section[] {
  const value = section[key] ?? [];
  if (!Array.isArray(value) || !value.every(isObject))
    throw new KubectlError(`invalid Kustomization: ${key} must be a list of objects`);
  return value;
}

/** The texts of a list; empty if there is none. Throws KubectlError for anything else. */
export function textsIn(section: Section, key: string): readonly string[] {
  const value = section[key] ?? [];
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string"))
    throw new KubectlError(`invalid Kustomization: ${key} must be a list of strings`);
  return value;
}

/** A map of texts; empty if there is none. */
export function textsOf(section: unknown, key: string): Readonly<Record<string, string>> {
  const value = isObject(section) ? section[key] : undefined;
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, String(one)]));
}
