// Metrics of the store, read when they are scraped.
import type { MetricRegistry } from "#base/metrics.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { StoreEngine } from "#store/engine.ts";
import type { Registry } from "./registry/registry.ts";

/** Upstream names the first store so; there is only one. */
const storeName = "etcd-0";

export function declareStorageMetrics(
  registry: MetricRegistry,
  store: StoreEngine,
  registries: ReadonlyMap<AnyKind, Registry>,
): void {
  const objects = registry.gauge({
    name: "apiserver_storage_objects",
    help: "Objects that are stored.",
    labels: ["resource"],
    stability: "STABLE",
  });
  const ofGroup = { labels: ["group", "resource"], stability: "ALPHA" } as const;
  const byGroup = registry.gauge({ name: "apiserver_resource_objects", help: "Objects that are stored.", ...ofGroup });
  const changes = { help: "Changes that came from the store.", labels: ofGroup.labels } as const;
  const stored = registry.counter({ name: "apiserver_storage_events_received_total", ...changes, stability: "BETA" });
  const received = registry.counter({
    name: "apiserver_watch_cache_events_received_total",
    ...changes,
    stability: "ALPHA",
  });
  const position = registry.gauge({
    name: "apiserver_watch_cache_resource_version",
    help: "Up to where the caches have followed the store.",
    ...ofGroup,
  });
  const notices = registry.counter({
    name: "etcd_bookmark_total",
    help: "Notices of the store that it is further, though nothing has changed; one is for all resources.",
    ...ofGroup,
  });
  const size = registry.gauge({
    name: "apiserver_storage_size_bytes",
    help: "Bytes that the store occupies.",
    labels: ["storage_cluster_id"],
    stability: "STABLE",
  });
  // Counted by an etcd's own client: no other store has leases.
  registry.histogram({
    name: "etcd_lease_object_counts",
    help: "Writes that share a lease.",
    buckets: [10, 50, 100, 500, 1000, 2500, 5000],
    stability: "ALPHA",
  });
  registry.reading(async () => {
    for (const [{ group, plural }, registry] of registries) {
      const figures = registry.objects.figures;
      objects.of(group === "" ? plural : `${plural}.${group}`).set(figures.size);
      byGroup.of(group, plural).set(figures.size);
      stored.of(group, plural).value = figures.received;
      received.of(group, plural).value = figures.received;
      notices.of(group, plural).value = figures.notices;
      position.of(group, plural).set(Math.max(figures.revision, 0));
    }
    size.clear();
    const { sizeBytes } = await store.status();
    if (sizeBytes !== undefined) size.of(storeName).set(sizeBytes);
  });
}
