// Owners: what the ownerReferences of an object say. An object has at most one that manages it, its controller.
// Upstream: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/controller_ref.go.
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";

/** For the ownerReferences of what a controller makes for `owner`: it goes when the owner goes, and wakes it when it changes. */
export function controlledBy({ apiVersion, kind }: AnyKind, owner: unknown) {
  const { name = "", uid = "" } = metadataOf(owner);
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** The owner that manages an object, if it has one. */
export const controllerOf = (object: unknown) =>
  metadataOf(object).ownerReferences?.find(({ controller }) => controller === true);
