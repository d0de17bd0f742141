// Where an object is: what the metadata of every object says, and what queues and caches use as a key.
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";

export interface ObjectKey {
  /** Absent for kinds that live in no namespace. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** `namespace/name`, or the name alone. */
export const keyOf = ({ namespace, name }: ObjectKey): string => (namespace ? `${namespace}/${name}` : name);

export function placeOf(key: string): ObjectKey {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** What a write was caused by, as the server records it: `deployments.apps/default/web@17`. */
export const causeOf = (kind: AnyKind, key: string, resourceVersion = ""): string =>
  `${resourceName(kind)}/${key}@${resourceVersion}`;

/** `pods`, `deployments.apps`. */
export const resourceName = ({ plural, group }: AnyKind): string => (group === "" ? plural : `${plural}.${group}`);

export function keyOfObject(object: unknown): string {
  const { namespace, name = "" } = metadataOf(object);
  return keyOf({ namespace, name });
}
