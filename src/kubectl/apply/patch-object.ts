// Patches that kubectl applies itself: `patch --local`, dry runs, and --overrides.

import { PatchError } from "#schema/patch/error.ts";
import { applyJsonPatch } from "#schema/patch/json-patch.ts";
import { applyMergePatch } from "#schema/patch/merge-patch.ts";
import { applyStrategicPatch } from "#schema/patch/strategic-merge.ts";
import { KubectlError } from "../errors.ts";
import type { KubeObject } from "../rest/client.ts";
import { builtInStruct } from "./built-in-struct.ts";

export type PatchFormat = "json" | "merge" | "strategic";

export const patchContentTypes: Readonly<Record<PatchFormat, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

/** Throws KubectlError. */
export function patchedObject(object: KubeObject, patch: unknown, type: PatchFormat): KubeObject {
  try {
    if (type === "json") return applyJsonPatch(object, patch) as KubeObject;
    if (type === "merge") return applyMergePatch(object, patch);
    const struct = builtInStruct(object);
    if (!struct)
      throw new KubectlError(
        `${object.apiVersion}, Kind=${object.kind} is not a kind with strategic merge patches; use --type merge`,
      );
    return applyStrategicPatch(struct, object, patch);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    throw new KubectlError(error.message, { cause: error });
  }
}
