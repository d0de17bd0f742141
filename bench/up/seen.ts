import type { Client, Selection } from "#client/client.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";

/** Resolves when a client sees that the objects of a kind are as wanted. */
export async function seen<K extends AnyKind>(
  client: Client,
  kind: K,
  areSo: (objects: readonly Infer<K>[]) => boolean,
  selection: Selection = {},
): Promise<void> {
  const { items, resourceVersion } = await client.list(kind, selection);
  const objects = new Map(items.map((object) => [metadataOf(object).uid, object]));
  if (areSo([...objects.values()])) return;
  const stop = new AbortController();
  const events = await client.watch(kind, { ...selection, resourceVersion, signal: stop.signal });
  try {
    for await (const batch of events) {
      for (const { type, object } of batch)
        if (type === "DELETED") objects.delete(metadataOf(object).uid);
        else if (type !== "BOOKMARK") objects.set(metadataOf(object).uid, object);
      if (areSo([...objects.values()])) return;
    }
  } finally {
    stop.abort(new Error("done"));
  }
  throw new Error(`the watch of ${kind.plural} ended early`);
}
