// Which servers of the cluster are alive: each keeps a key in the store that vanishes when it is no longer renewed. The keys are
// those of upstream, so that servers of both kinds could take turns.
import { Conflict, type StoreEngine } from "#store/engine.ts";
import { registryPrefix } from "../store-follower.ts";

const prefix = `${registryPrefix}masterleases/`;
/** Of which two thirds may pass between two renewals. */
export const leaseSeconds = 15;

/** Says that this server is alive, and tells the addresses of all that are, in order. */
export async function renewPresence(
  store: StoreEngine,
  address: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const key = prefix + address;
  try {
    const before = await store.get(key, signal);
    await store.put(key, leaseOf(address), before?.modified ?? 0, { ttlSeconds: leaseSeconds });
  } catch (error) {
    // It ended at this moment, or a server with the same address renewed it: either way the next round finds out.
    if (!(error instanceof Conflict)) throw error;
  }
  const { entries } = await store.list(prefix, {}, signal);
  const alive = entries.map((entry) => entry.key.slice(prefix.length));
  return alive.includes(address) ? alive : [...alive, address].toSorted();
}

export async function endPresence(store: StoreEngine, address: string): Promise<void> {
  const present = await store.get(prefix + address);
  if (present) await store.delete(present.key, present.modified);
}

/** As upstream writes it: an Endpoints object of one address. */
const leaseOf = (ip: string): Uint8Array =>
  new TextEncoder().encode(
    JSON.stringify({ kind: "Endpoints", apiVersion: "v1", metadata: {}, subsets: [{ addresses: [{ ip }] }] }),
  );
