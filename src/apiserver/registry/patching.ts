// Patches of the four types, each turned into a change of the stored object.

import { inTurns, turn } from "#base/breathe.ts";
import { ApiError } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import type { Soon } from "#base/soon.ts";
import { copyJson } from "#schema/apply/value.ts";
import { decodeValue } from "#schema/decode.ts";
import { DecodeError, refuseManyValues, type TypeMismatch } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { PatchError } from "#schema/patch/error.ts";
import { applyJsonPatch, jsonPatchSteps } from "#schema/patch/json-patch.ts";
import { applyMergePatch } from "#schema/patch/merge-patch.ts";
import { applyStrategicPatch } from "#schema/patch/strategic-merge.ts";
import type { PatchType } from "#wire/api-request.ts";
import { badRequest, invalidObject, unexpectedError } from "#wire/status.ts";
import { foreignKind, wrongNames } from "../foreign-kind.ts";
import { mostValues } from "../request-body.ts";

export interface PatchResult {
  readonly object: DraftObject;
  readonly strictErrors: readonly string[];
  /** The refusal of a patch that makes no valid object: it names the patch, not a field. */
  invalid(detail: string): ApiError;
}

/** The object that a JSON, merge or strategic patch makes of `current`, decoded. */
export async function patched(
  kind: AnyKind,
  type: Exclude<PatchType, "apply">,
  current: ApiObject,
  patch: unknown,
  isLarge: boolean,
): Promise<PatchResult> {
  if (type === "json" && !Array.isArray(patch) && kind.model.publication.isUnstructured)
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${goValueKind(patch)} into Go value of type []handlers.jsonPatchOp`,
    );
  const value = await located(type, () => {
    switch (type) {
      case "json":
        return isLarge ? inTurns(jsonPatchSteps(current, patch)) : applyJsonPatch(current, patch);
      case "merge":
        return applyMergePatch(current, patch);
      case "strategic":
        return applyStrategicPatch(kind.struct, current, patch);
    }
  });
  if (isLarge) {
    await turn();
    refuseManyValues(withoutOwners(value), mostValues);
    await turn();
  }
  const invalid = (detail: string): ApiError => {
    const shown = type === "strategic" ? goText(patch) : JSON.stringify(value);
    return invalidObject({ group: "", kind: "" }, "", [{ type: "Invalid", field: "patch", value: shown, detail }]);
  };
  try {
    const draft = draftOf(value);
    if (isLarge) await turn();
    const { object, strictErrors } = decodeValue(kind, draft);
    if (kind.model.publication.isUnstructured) {
      const refusal = wrongNames(kind, object, (object as DraftObject).metadata?.name);
      if (refusal) throw refusal;
    }
    const foreign = foreignKind(kind, object);
    if (foreign !== undefined && type !== "strategic") throw invalid(foreign);
    // Upstream merges maps, which it then writes with their keys in order.
    return {
      object: object as DraftObject,
      strictErrors: type === "merge" ? strictErrors.toSorted() : strictErrors,
      invalid,
    };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const { message, mismatch } = error;
    throw invalid(type === "strategic" && mismatch ? converterText(mismatch) : message);
  }
}

/** How Go's converter words a value of the wrong type, which upstream takes for strategic patches instead of a decoder. */
function converterText({ value, type }: TypeMismatch): string {
  const is = Array.isArray(value) ? "slice" : goKinds[typeof value];
  const kind = is === undefined ? (Number.isInteger(value) ? "int64" : "float64") : is;
  if (type.startsWith("map[")) return `cannot restore map from ${kind}`;
  if (type.startsWith("[]")) return `cannot restore slice from ${kind}`;
  if (type.includes(".")) return `cannot restore struct from: ${kind}`;
  const isConvertible = (kind === "int64" && type === "string") || (kind === "float64" && type.startsWith("int"));
  return isConvertible ? `cannot convert ${kind} to ${type}` : `unrecognized type: ${type}`;
}

const goKinds: Readonly<Record<string, string>> = { string: "string", boolean: "bool", object: "map" };

/** What Go's decoder calls a value of JSON. */
const goValueKind = (value: unknown): string => (typeof value === "boolean" ? "bool" : typeof value);

/** A JSON value as Go prints it. */
function goText(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (typeof value !== "object") return String(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, one]) => `${key}:${goText(one)}`).join(" ")}]`;
}

/** Who owns what is of the server's own making, and grows with the rest. */
function withoutOwners(value: unknown): unknown {
  if (!isObject(value) || !isObject(value.metadata)) return value;
  const { managedFields: _, ...metadata } = value.metadata;
  return { ...value, metadata };
}

/** A copy to work on. Who owns what is never changed in place, and is most of an object: that much is shared. */
export function draftOf(value: unknown): unknown {
  if (!isObject(value) || !isObject(value.metadata)) return copyJson(value);
  const { metadata, ...rest } = value;
  const { managedFields, ...others } = metadata;
  return {
    ...copyJson(rest),
    metadata: { ...copyJson(others), ...(managedFields !== undefined && { managedFields }) },
  };
}

async function located<T>(type: PatchType, work: () => Soon<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    // Of what a strategic patch can be wrong about upstream knows few things, and passes the others on as they are.
    if (type === "strategic" && error.code === 422 && error.message !== "lists of lists are not supported")
      throw unexpectedError(error.message);
    if (error.code === 422)
      throw new ApiError({
        code: 422,
        reason: "Invalid",
        message: "the server rejected our request due to an error in our request",
        details: {},
      });
    if (error.code === 413)
      throw new ApiError({
        code: 413,
        reason: "RequestEntityTooLarge",
        message: `Request entity too large: ${error.message}`,
      });
    throw badRequest(error.message);
  }
}
