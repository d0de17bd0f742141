// The store of the cluster's logs in a process of its own, behind the API server as an aggregated API.
import { join } from "node:path";
import { type Clock, systemClock } from "#base/clock.ts";
import { writeToStderr } from "#base/host/stderr.ts";
import { createLog } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { connectClient } from "#client/host/connect.ts";
import { LogStore } from "#logging/host/log-store.ts";
import { kubernetesVersion } from "../version.ts";
import { endingSignal, healthPages } from "./log-pages.ts";
import { LiveLogSettings } from "./log-settings.ts";
import { LogStoreServer, type StoreServerSettings } from "./log-store-server.ts";

export interface LogStoreSettings extends StoreServerSettings {
  readonly config: string;
  readonly healthPort: number;
  readonly kubeconfig: string | undefined;
}

const lookMs = 60_000;

/** Returns when the process is told to end. */
export async function runLogStore(settings: LogStoreSettings): Promise<void> {
  const clock = systemClock;
  const log = createLog({ clock, write: writeToStderr });
  const live = new LiveLogSettings(settings.config, clock, log);
  const { signal, ended } = endingSignal();
  const connection = await connectClient({
    explicit: settings.kubeconfig,
    env: process.env,
    userAgent: `log-store/${kubernetesVersion}`,
    clock,
    signal,
  });
  const folder = join(settings.data, "segments");
  const store = await LogStore.open({ folder, retention: () => live.current.retention, clock, log });
  log.info("lines were found on disk", { lines: store.lines, segments: store.segments, bytes: store.bytes });
  const metrics = storeMetrics(store);
  const server = new LogStoreServer({ settings, client: connection.client, store, metrics, clock, log });
  const pages = healthPages(settings.healthPort, metrics, () => (server.isServing ? undefined : "not serving yet"));
  try {
    await supervise([live, server, pages, pruning(store, clock)], signal);
  } finally {
    connection.close();
    await store.close();
  }
  if (signal.reason !== ended) throw signal.reason;
}

const pruning = (store: LogStore, clock: Clock): Component => ({
  name: "pruning",
  async run(signal) {
    for (;;) {
      await clock.sleep(lookMs, signal);
      await store.prune();
    }
  },
});

function storeMetrics(store: LogStore): MetricRegistry {
  const metrics = new MetricRegistry();
  const gauge = (name: string, help: string, read: () => number | undefined) => {
    const family = metrics.gauge({ name: `knarr_log_store_${name}`, help });
    metrics.reading(() => family.of().set(read() ?? 0));
  };
  gauge("bytes", "Bytes of all segments.", () => store.bytes);
  gauge("lines", "Lines that are kept.", () => store.lines);
  gauge("segments", "Segments on disk.", () => store.segments);
  gauge("removed_segments", "Segments that were removed since the start.", () => store.removedSegments);
  gauge("damaged_bytes", "Bytes that were found to be no lines at the start.", () => store.damagedBytes);
  gauge("oldest_line_seconds", "When the oldest line was written, in seconds since 1970.", () => store.oldest);
  return metrics;
}
