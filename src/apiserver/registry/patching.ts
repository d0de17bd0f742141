// Patches of the four types, each turned into a change of the stored object.

import { ApiError } from "#base/errors.ts";
import { copyJson } from "#schema/apply/value.ts";
import { decodeValue } from "#schema/decode.ts";
import { DecodeError } from "#schema/json.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { PatchError } from "#schema/patch/error.ts";
import { applyJsonPatch } from "#schema/patch/json-patch.ts";
import { applyMergePatch } from "#schema/patch/merge-patch.ts";
import { applyStrategicPatch } from "#schema/patch/strategic-merge.ts";
import type { PatchType } from "#wire/api-request.ts";
import { badRequest, invalidObject } from "#wire/status.ts";

export interface Patched {
  readonly object: DraftObject;
  readonly strictErrors: readonly string[];
  /** The refusal of a patch that makes no valid object: it names the patch, not a field. */
  invalid(detail: string): ApiError;
}

/** The object that a JSON, merge or strategic patch makes of `current`, decoded. */
export function patched(kind: AnyKind, type: Exclude<PatchType, "apply">, current: ApiObject, patch: unknown): Patched {
  const value = located(() => {
    switch (type) {
      case "json":
        return applyJsonPatch(current, patch);
      case "merge":
        return applyMergePatch(current, patch);
      case "strategic":
        return applyStrategicPatch(kind.struct, current, patch);
    }
  });
  const invalid = (detail: string): ApiError => {
    const shown = type === "strategic" ? goText(patch) : JSON.stringify(value);
    return invalidObject({ group: "", kind: "" }, "", [{ type: "Invalid", field: "patch", value: shown, detail }]);
  };
  try {
    const { object, strictErrors } = decodeValue(kind, draftOf(value));
    return { object: object as DraftObject, strictErrors, invalid };
  } catch (error) {
    if (error instanceof DecodeError) throw invalid(error.message);
    throw error;
  }
}

/** A JSON value as Go prints it. */
function goText(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (typeof value !== "object") return String(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, one]) => `${key}:${goText(one)}`).join(" ")}]`;
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

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function located<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    if (error.code === 422)
      throw new ApiError({
        code: 422,
        reason: "Invalid",
        message: `the server rejected our request due to an error in our request: ${error.message}`,
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
