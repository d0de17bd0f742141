// Explains a missing object: similar names that may be meant, and the write that deleted it.
import { Event } from "#api/core/v1/event.ts";
import { nearNames } from "#base/near.ts";
import type { Client } from "#client/client.ts";
import { type ObjectKey, resourceName } from "#client/object-key.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import { listAllowed } from "./facts.ts";

/** The object that was asked about does not exist. */
export class NoSuchObject extends Error {
  override readonly name = "NoSuchObject";
}

export async function notFound(kind: AnyKind, { namespace, name }: ObjectKey, client: Client): Promise<NoSuchObject> {
  const isNamespaced = kind.scope === "Namespaced";
  const fieldSelector = `involvedObject.kind=${kind.kind},involvedObject.name=${name}`;
  const [all, past] = await Promise.all([
    listAllowed(client, kind, {}),
    listAllowed(client, Event, { namespace: namespace ?? "default", fieldSelector }),
  ]);
  const objects = all.map(metadataOf);
  const near = nearNames(
    name,
    objects.flatMap((one) => (one.namespace === namespace && one.name !== undefined ? [one.name] : [])),
  );
  const elsewhere = objects.flatMap((one) => (one.name === name && one.namespace ? [one.namespace] : []));
  const last = past.toSorted((a, b) => (a.lastTimestamp ?? "").localeCompare(b.lastTimestamp ?? "")).at(-1);
  return new NoSuchObject(
    [
      `${resourceName(kind)} "${name}" not found${isNamespaced ? ` in namespace ${namespace}` : ""}`,
      ...(near.length > 0 ? [`did you mean ${near.join(", ")}?`] : []),
      ...(elsewhere.length > 0 ? [`there is one in namespace ${elsewhere.slice(0, 3).join(", ")}: add -n`] : []),
      ...(last ? [`the last that was reported about it: ${last.reason}: ${last.message}`] : []),
    ].join("; "),
  );
}
