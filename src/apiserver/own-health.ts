// The health checks of the API server.
import type { HealthCheck } from "#serving/health.ts";
import type { StoreEngine } from "#store/engine.ts";
import type { StoreFollower } from "./store-follower.ts";

interface HealthSubjects {
  readonly store: StoreEngine;
  readonly follower: StoreFollower;
  /** Whether the roles that every cluster has are there. */
  readonly isPolicyReady: () => boolean;
  readonly stopping?: AbortSignal | undefined;
}

/** Under upstream's names: whoever probes a server excludes some of them, or looks at one. */
export const ownHealth = ({ store, follower, isPolicyReady, stopping }: HealthSubjects): readonly HealthCheck[] => [
  { name: "ping", check: async () => undefined },
  { name: "log", check: async () => undefined },
  { name: "loopback-serving-certificate", isOfLife: true, check: async () => undefined },
  { name: "etcd", check: answers(store) },
  { name: "etcd-readiness", isOfReadiness: true, check: answers(store) },
  { name: "informer-sync", isOfReadiness: true, check: filled(follower) },
  ...hooks.map(
    (name): HealthCheck => ({
      name,
      check: name === bootstrapRoles ? finished(isPolicyReady) : filled(follower),
    }),
  ),
  {
    name: "shutdown",
    isOfReadiness: true,
    check: async () => {
      if (stopping?.aborted) throw new Error("process is shutting down");
    },
  },
];

const bootstrapRoles = "poststarthook/rbac/bootstrap-roles";

/** What upstream starts one by one, in its order. Here most of it is there as soon as the caches are. */
const hooks: readonly string[] = [
  "poststarthook/start-apiserver-admission-initializer",
  "poststarthook/generic-apiserver-start-informers",
  "poststarthook/priority-and-fairness-config-consumer",
  "poststarthook/priority-and-fairness-filter",
  "poststarthook/storage-object-count-tracker-hook",
  "poststarthook/start-apiextensions-informers",
  "poststarthook/start-apiextensions-controllers",
  "poststarthook/crd-informer-synced",
  "poststarthook/start-system-namespaces-controller",
  "poststarthook/peer-endpoint-reconciler-controller",
  "poststarthook/start-cluster-authentication-info-controller",
  "poststarthook/start-kube-apiserver-identity-lease-controller",
  "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
  "poststarthook/storage-readiness",
  "poststarthook/start-legacy-token-tracking-controller",
  "poststarthook/start-service-ip-repair-controllers",
  bootstrapRoles,
  "poststarthook/scheduling/bootstrap-system-priority-classes",
  "poststarthook/priority-and-fairness-config-producer",
  "poststarthook/bootstrap-controller",
  "poststarthook/start-kubernetes-service-cidr-controller",
  "poststarthook/start-kube-aggregator-informers",
  "poststarthook/apiservice-status-local-available-controller",
  "poststarthook/apiservice-status-remote-available-controller",
  "poststarthook/apiservice-registration-controller",
  "poststarthook/apiservice-discovery-controller",
  "poststarthook/kube-apiserver-autoregistration",
  "autoregister-completion",
  "poststarthook/apiservice-openapi-controller",
  "poststarthook/apiservice-openapiv3-controller",
];

const filled =
  (follower: StoreFollower): HealthCheck["check"] =>
  async () => {
    if (follower.revision < 0) throw new Error("the caches are not filled yet");
  };

const finished =
  (isFinished: () => boolean): HealthCheck["check"] =>
  async () => {
    if (!isFinished()) throw new Error("not finished");
  };

/** A full store counts as healthy: it answers and accepts deletions, and restarting its server would prevent those. */
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
