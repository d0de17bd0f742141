import { createHash } from "node:crypto";
import type { StoreEngine } from "#store/engine.ts";
import { follow } from "#store/testing.ts";

/** A digest of all that a store can be asked for: what is present, and all history that is kept. */
export async function contentOf(store: StoreEngine): Promise<string> {
  const hash = createHash("sha256");
  const { revision, compacted } = await store.status();
  hash.update(`${revision} ${compacted}\n`);
  for (const { key, value, created, modified } of (await store.list("")).entries)
    hash.update(`${key} ${created} ${modified} ${value.length}\n`).update(value);
  const watcher = follow(store, "", compacted);
  await watcher.caughtUpTo(revision);
  await watcher.stop();
  for (const { type, entry, previous } of watcher.changes)
    hash.update(`${type} ${entry.key} ${entry.modified} ${previous?.modified}\n`).update(entry.value);
  return hash.digest("hex");
}
