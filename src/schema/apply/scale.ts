// The scale subresource shows one field of its object under another name. Who owns `spec.replicas` of a Scale owns the field that
// holds the size in the object, and the other way round; the other fields have nothing to do with it.
import { fieldElement } from "./element.ts";
import { difference, has, isEmptySet, setOf } from "./field-set.ts";
import { decodeManaged, encodeManaged, type OwnedFieldsEntry, type Owner } from "./managed.ts";

const scaleVersion = "autoscaling/v1";
const replicasOfScale = ["f:spec", "f:replicas"] as const;

/** Where each version of the object keeps its size: "spec.replicas". Undefined for a version that cannot be scaled. */
export type ReplicasPaths = Readonly<Record<string, string | undefined>>;

/** The managedFields of the Scale of an object. */
export function scaleManagedFields(entries: unknown, paths: ReplicasPaths): readonly OwnedFieldsEntry[] {
  const managed = new Map<string, Owner>();
  for (const [id, owner] of decodeManaged(entries)) {
    const path = pathOf(paths, owner.apiVersion);
    if (path === undefined || !has(owner.set, path)) continue;
    managed.set(id, { ...owner, apiVersion: scaleVersion, set: setOf(replicasOfScale) });
  }
  return encodeManaged(managed);
}

/** The managedFields of the object, once those of its Scale became `scaleEntries`. `apiVersion` is that of the object. */
export function parentManagedFields(
  entries: unknown,
  scaleEntries: unknown,
  paths: ReplicasPaths,
  apiVersion: string,
): readonly OwnedFieldsEntry[] {
  const parent = decodeManaged(entries);
  const scale = new Map(decodeManaged(scaleEntries));
  const managed = new Map<string, Owner>();
  for (const [id, owner] of parent) {
    if (!Object.hasOwn(paths, owner.apiVersion)) continue;
    const path = pathOf(paths, owner.apiVersion);
    if (path === undefined || !has(owner.set, path)) managed.set(id, owner);
    else if (scale.delete(id)) managed.set(id, owner);
    else {
      const set = difference(owner.set, setOf(path));
      if (!isEmptySet(set)) managed.set(id, { ...owner, set });
    }
  }
  const path = pathOf(paths, apiVersion);
  for (const [id, owner] of scale)
    if (path !== undefined && has(owner.set, replicasOfScale))
      managed.set(id, { ...owner, apiVersion, set: setOf(path), time: parent.get(id)?.time });
  return encodeManaged(managed);
}

const pathOf = (paths: ReplicasPaths, apiVersion: string): readonly string[] | undefined =>
  Object.hasOwn(paths, apiVersion) ? paths[apiVersion]?.split(".").map(fieldElement) : undefined;
