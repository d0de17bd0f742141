import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "./place.ts";

/** For the ownerReferences of what a controller makes for `owner`: it goes when the owner goes, and wakes it when it changes. */
export function controlledBy({ apiVersion, kind }: AnyKind, owner: unknown) {
  const { name = "", uid = "" } = metadataOf(owner);
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}
