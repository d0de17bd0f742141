// The version in which objects are stored from now on is noted beside those they were stored in before.
import type { CustomResourceDefinitionVersion } from "#api/apiextensions/v1/custom-resource-definition.ts";
import type { DraftObject } from "#schema/object.ts";
import type { Strategy } from "../registry/strategy.ts";

export const customResourceDefinition: Strategy = {
  countsGenerations: true,
  needsResourceVersion: true,
  prepareForCreate: noteStorage,
  prepareForUpdate: noteStorage,
};

function noteStorage(object: DraftObject): void {
  const versions: readonly CustomResourceDefinitionVersion[] = object.spec?.versions ?? [];
  const storage = versions.find((version) => version.storage)?.name;
  const stored: readonly string[] = object.status.storedVersions ?? [];
  // The status is the stored object's own, so it is replaced and not changed.
  if (storage !== undefined && !stored.includes(storage))
    object.status = { ...object.status, storedVersions: [...stored, storage] };
}
