// The graph of owners and dependents over all kinds. Pure data: it takes in changes, and returns the objects that they affect.
// Upstream: pkg/controller/garbagecollector/graph_builder.go and pkg/controller/garbagecollector/graph.go.
import { groupOf } from "#schema/api-version.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import type { OwnerReference } from "#schema/object-meta.ts";

export const orphanFinalizer = "orphan";
export const foregroundFinalizer = "foregroundDeletion";

/** The fields of an object that garbage collection needs. */
export interface Node {
  readonly kind: AnyKind;
  readonly uid: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly owners: readonly OwnerReference[];
  readonly isDeleted: boolean;
  /** Deleted, and its dependents are to be set free first. */
  readonly orphans: boolean;
  /** Deleted, and stays until the dependents that block it are gone. */
  readonly awaitsDependents: boolean;
}

export function nodeOf(kind: AnyKind, object: unknown): Node {
  const { uid = "", namespace, name = "", ownerReferences = [], deletionTimestamp, finalizers } = metadataOf(object);
  const isDeleted = deletionTimestamp !== undefined;
  return {
    kind,
    uid,
    namespace,
    name,
    owners: ownerReferences,
    isDeleted,
    orphans: isDeleted && finalizers?.includes(orphanFinalizer) === true,
    awaitsDependents: isDeleted && finalizers?.includes(foregroundFinalizer) === true,
  };
}

export class OwnerGraph {
  readonly #nodes = new Map<string, Node>();
  readonly #dependents = new Map<string, Set<string>>();

  get(uid: string): Node | undefined {
    return this.#nodes.get(uid);
  }

  /** Those that name the object as an owner, whether it is there or not. */
  dependents(uid: string): readonly Node[] {
    return [...(this.#dependents.get(uid) ?? [])].flatMap((one) => this.#nodes.get(one) ?? []);
  }

  /** The dependents that a foreground deletion of the object waits for. Those that wait for it in turn do not count: all would wait for ever. */
  blockers(uid: string): readonly Node[] {
    return this.#blocking(uid).filter((dependent) => !this.#waitsFor(dependent, uid, new Set()));
  }

  #blocking(uid: string): readonly Node[] {
    return this.dependents(uid).filter(({ owners }) =>
      owners.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
    );
  }

  #waitsFor(node: Node, uid: string, seen: Set<string>): boolean {
    if (node.uid === uid) return true;
    if (!node.awaitsDependents || seen.has(node.uid)) return false;
    seen.add(node.uid);
    return this.#blocking(node.uid).some((dependent) => this.#waitsFor(dependent, uid, seen));
  }

  /** Takes in an object as it is now; the uids of all that should be looked at because of it. */
  set(node: Node): readonly string[] {
    const old = this.#nodes.get(node.uid);
    this.#nodes.set(node.uid, node);
    for (const { uid } of old?.owners ?? []) this.#forgetDependent(uid, node.uid);
    for (const { uid } of node.owners) this.#dependentsOf(uid).add(node.uid);
    const affected = (old?.owners ?? []).map(({ uid }) => uid).filter((uid) => this.#nodes.get(uid)?.awaitsDependents);
    const isWaitedFor = node.awaitsDependents && !old?.awaitsDependents;
    if (isWaitedFor) affected.push(...(this.#dependents.get(node.uid) ?? []));
    const needsLook = node.orphans || node.awaitsDependents || node.owners.some((owner) => !this.#isSolid(owner, node));
    return needsLook ? [...affected, node.uid] : affected;
  }

  /** Takes out an object that is gone; the uids of all that should be looked at because of it. */
  delete(uid: string): readonly string[] {
    const node = this.#nodes.get(uid);
    this.#nodes.delete(uid);
    const owners = node?.owners ?? [];
    for (const owner of owners) this.#forgetDependent(owner.uid, uid);
    return [
      ...(this.#dependents.get(uid) ?? []),
      ...owners.map((owner) => owner.uid).filter((one) => this.#nodes.get(one)?.awaitsDependents),
    ];
  }

  /** Takes out all objects of a kind; the uids of all that should be looked at because of it. */
  deleteKind({ group, kind }: AnyKind): readonly string[] {
    const nodes = [...this.#nodes.values()].filter((node) => node.kind.group === group && node.kind.kind === kind);
    return nodes.flatMap(({ uid }) => this.delete(uid));
  }

  /** The uids of those that have an owner of one of these kinds, each said by `ownerGroupKind`. */
  ownedByKinds(kinds: ReadonlySet<string>): readonly string[] {
    const nodes = [...this.#nodes.values()];
    return nodes.filter(({ owners }) => owners.some((owner) => kinds.has(ownerGroupKind(owner)))).map(({ uid }) => uid);
  }

  #isSolid(owner: OwnerReference, node: Node): boolean {
    const present = this.#nodes.get(owner.uid);
    return present !== undefined && isMeant(owner, present, node) && !present.awaitsDependents;
  }

  #dependentsOf(uid: string): Set<string> {
    const present = this.#dependents.get(uid) ?? new Set<string>();
    this.#dependents.set(uid, present);
    return present;
  }

  #forgetDependent(owner: string, dependent: string): void {
    const all = this.#dependents.get(owner);
    all?.delete(dependent);
    if (all?.size === 0) this.#dependents.delete(owner);
  }
}

/** Whether a reference matches the object with its uid in kind and namespace: an owner is in the same namespace, or in none. */
export const isMeant = (owner: OwnerReference, present: Node, dependent: Node): boolean =>
  present.kind.kind === owner.kind &&
  present.kind.group === groupOf(owner.apiVersion) &&
  present.name === owner.name &&
  (present.namespace === undefined || present.namespace === dependent.namespace);

/** What a kind is called whatever its version: `apps/Deployment`. */
export const groupKindOf = ({ group, kind }: AnyKind): string => `${group}/${kind}`;
/** The same for the kind in an owner reference. */
export const ownerGroupKind = ({ apiVersion, kind }: OwnerReference): string => `${groupOf(apiVersion)}/${kind}`;
