// Adoption and release: a controller takes over orphans that match its selector, and lets go of objects that no longer do.
// Upstream: pkg/controller/controller_ref_manager.go.
import { isNotFound, isReason } from "#base/errors.ts";
import type { Client } from "#client/client.ts";
import type { ObjectKey } from "#client/object-key.ts";
import { controlledBy, controllerOf } from "#rules/owners.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import type { Labels } from "#schema/selector.ts";

export interface OwnershipClaim<K extends AnyKind> {
  /** The kind of what is claimed. */
  readonly kind: K;
  /** What the owner controls already, and orphans of its namespace. */
  readonly candidates: readonly Infer<K>[];
  readonly ownerKind: AnyKind;
  readonly owner: unknown;
  readonly selects: (labels: Labels | undefined, object: Infer<K>) => boolean;
  /** What is adopted gets these finalizers, and what is released loses them. */
  readonly finalizers?: readonly string[];
}

/**
 * The candidates that the owner controls afterwards: orphans it selects are adopted, and what it no longer selects is released.
 * All are tried; then the first failure is thrown. An owner that is being deleted neither adopts nor releases.
 */
export async function claim<K extends AnyKind>(
  client: Client,
  claimed: OwnershipClaim<K>,
): Promise<readonly Infer<K>[]> {
  const { candidates, owner, selects } = claimed;
  const { uid, deletionTimestamp: going } = metadataOf(owner);
  const isGoing = going !== undefined;
  let recheck: Promise<void> | undefined;
  const mayAdopt = () => (recheck ??= refuseGone(client, claimed.ownerKind, owner));
  const kept: Infer<K>[] = [];
  const failures: unknown[] = [];
  for (const object of candidates) {
    const { labels, deletionTimestamp } = metadataOf(object);
    const controller = controllerOf(object);
    const isOwn = controller?.uid === uid;
    if (controller && !isOwn) continue;
    const isSelected = selects(labels, object);
    if (isOwn && isSelected) kept.push(object);
    else if (!isGoing && (isOwn || (isSelected && deletionTimestamp === undefined))) {
      try {
        if (isOwn) await release(client, claimed, object);
        else kept.push(...(await adopt(client, claimed, object, mayAdopt)));
      } catch (error) {
        failures.push(error);
      }
    }
  }
  if (failures.length > 0) throw failures[0];
  return kept;
}

/** A cache may lag: an owner that was deleted meanwhile must not adopt what the garbage collector has just set free. */
async function refuseGone(client: Client, kind: AnyKind, owner: unknown): Promise<void> {
  const { namespace, name = "", uid } = metadataOf(owner);
  const fresh = metadataOf(await client.get(kind, { namespace, name }));
  if (fresh.uid !== uid)
    throw new Error(`original ${kind.kind} ${namespace}/${name} is gone: got uid ${fresh.uid}, wanted ${uid}`);
  if (fresh.deletionTimestamp !== undefined)
    throw new Error(`${namespace}/${name} has just been deleted at ${fresh.deletionTimestamp}`);
}

/** The object as it is with its new owner; nothing if it is gone by now. */
async function adopt<K extends AnyKind>(
  client: Client,
  { kind, ownerKind, owner, finalizers }: OwnershipClaim<K>,
  object: Infer<K>,
  mayAdopt: () => Promise<void>,
): Promise<readonly Infer<K>[]> {
  const { uid } = metadataOf(object);
  try {
    await mayAdopt();
  } catch (cause) {
    const { namespace, name } = placeOfObject(object);
    throw new Error(`can't adopt ${kind.kind} ${namespace}/${name} (${uid})`, { cause });
  }
  try {
    const metadata = { ownerReferences: [controlledBy(ownerKind, owner)], finalizers, uid };
    return [await client.patch(kind, placeOfObject(object), "strategic", { metadata })];
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

async function release<K extends AnyKind>(client: Client, claimed: OwnershipClaim<K>, object: Infer<K>): Promise<void> {
  const { kind, owner, finalizers } = claimed;
  const metadata = {
    ownerReferences: [{ $patch: "delete", uid: metadataOf(owner).uid }],
    ...(finalizers && { "$deleteFromPrimitiveList/finalizers": finalizers }),
    uid: metadataOf(object).uid,
  };
  try {
    await client.patch(kind, placeOfObject(object), "strategic", { metadata });
  } catch (error) {
    // Invalid: it is another object of the same name by now, or has no owner any more. Both are as good as released.
    if (!isNotFound(error) && !isReason(error, "Invalid")) throw error;
  }
}

function placeOfObject(object: unknown): ObjectKey {
  const { namespace, name = "" } = metadataOf(object);
  return { namespace, name };
}
