// The version in which objects are stored from now on is noted beside those they were stored in before; and a definition that is deleted
// stays until its objects are gone.
// Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go and
// staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/etcd.go.
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionVersion,
} from "#api/apiextensions/v1/custom-resource-definition.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { Strategy } from "../registry/strategy.ts";
import { definitionWarnings } from "../warnings/custom-resource-definition.ts";

/** Holds a definition until nothing is left of what it defines. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

export const customResourceDefinition: Strategy = {
  countsGenerations: true,
  needsResourceVersion: true,
  prepareForCreate: noteStorage,
  prepareForUpdate: noteStorage,
  mayGo: ({ metadata }) => metadata.deletionTimestamp !== undefined,
  prepareForDeletion,
  warnings: (object, old) => definitionWarnings(asDefinition(object), old && asDefinition(old)),
};

const asDefinition = (object: ApiObject): CustomResourceDefinition => object as object as CustomResourceDefinition;

function noteStorage(object: DraftObject): void {
  const versions: readonly CustomResourceDefinitionVersion[] = object.spec?.versions ?? [];
  const storage = versions.find((version) => version.storage)?.name;
  const stored: readonly string[] = object.status.storedVersions ?? [];
  // The status is the stored object's own, so it is replaced and not changed.
  if (storage !== undefined && !stored.includes(storage))
    object.status = { ...object.status, storedVersions: [...stored, storage] };
}

function prepareForDeletion(object: DraftObject): void {
  const { metadata } = object;
  delete metadata.deletionGracePeriodSeconds;
  if (metadata.generation) metadata.generation -= 1; // a deletion is no change of what is wanted here
  const finalizers = metadata.finalizers ?? [];
  if (!finalizers.includes(cleanupFinalizer)) metadata.finalizers = [...finalizers, cleanupFinalizer];
  const pending = {
    type: "Terminating",
    status: "True",
    reason: "InstanceDeletionPending",
    message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    lastTransitionTime: metadata.deletionTimestamp,
  };
  const conditions: readonly CustomResourceDefinitionCondition[] = object.status?.conditions ?? [];
  const others = conditions.filter(({ type }) => type !== pending.type);
  object.status = { ...object.status, conditions: [...others, pending] };
}
