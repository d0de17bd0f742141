// What a server looks at when it is asked how it is.
import type { StoreEngine } from "#store/engine.ts";
import type { HealthCheck } from "./health.ts";
import type { StoreFollower } from "./store-follower.ts";

interface Looked {
  readonly store: StoreEngine;
  readonly follower: StoreFollower;
  /** Whether the roles that every cluster has are there. */
  readonly isPolicyReady: () => boolean;
  readonly stopping?: AbortSignal | undefined;
}

/** Under upstream's names: whoever probes a server excludes some of them, or looks at one. */
export const ownHealth = ({ store, follower, isPolicyReady, stopping }: Looked): readonly HealthCheck[] => [
  { name: "ping", check: async () => undefined },
  { name: "etcd", check: answers(store) },
  { name: "etcd-readiness", isOfReadiness: true, check: answers(store) },
  {
    name: "informer-sync",
    isOfReadiness: true,
    check: async () => {
      if (follower.revision < 0) throw new Error("the caches are not filled yet");
    },
  },
  {
    name: "poststarthook/rbac/bootstrap-roles",
    check: async () => {
      if (!isPolicyReady()) throw new Error("not finished");
    },
  },
  {
    name: "shutdown",
    isOfReadiness: true,
    check: async () => {
      if (stopping?.aborted) throw new Error("process is shutting down");
    },
  },
];

/** A store that is full answers, and takes deletions: who would stop its server could free nothing any more. */
const answers =
  (store: StoreEngine): HealthCheck["check"] =>
  async (signal) => {
    await store.status(signal);
  };

/** The store as a part of the control plane. Named as upstream names the first endpoint of it, whichever store it is. */
export const storeHealth = (store: StoreEngine): HealthCheck => ({
  name: "etcd-0",
  check: async (signal) => {
    const { alarm } = await store.status(signal);
    if (alarm !== undefined) throw new Error(alarm);
  },
});
