// --overrides: JSON that is put over an object that was made from arguments (upstream: kubectl/pkg/cmd/util/override_options.go).
import { isObject } from "#base/is-object.ts";
import { type PatchFormat, patchedObject } from "../apply/patch-object.ts";
import { KubectlError } from "../errors.ts";
import type { KubeObject } from "../rest/client.ts";
import { parseAnswer } from "../rest/client.ts";

/** Throws KubectlError for what is no JSON. */
export function overridden(object: KubeObject, overrides: string, type: string): KubeObject {
  if (overrides === "") return object;
  if (type !== "json" && type !== "merge" && type !== "strategic")
    throw new KubectlError(`invalid override type: ${type}`);
  let patch: unknown;
  try {
    patch = parseAnswer(overrides);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new KubectlError(`Invalid JSON Patch`, { cause });
  }
  return patchedObject(object, withKind(object, patch, type), type);
}

/** What is put over must be of the same kind, where it says one. */
function withKind(object: KubeObject, patch: unknown, type: PatchFormat): unknown {
  if (type === "json" || !isObject(patch)) return patch;
  return { apiVersion: object.apiVersion, kind: object.kind, ...patch };
}
