import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { type Metrics, noMetrics } from "#base/metrics.ts";
import { systemRandom } from "#base/random.ts";
import { asText, flagFile } from "#cli/host/flag-file.ts";
import type { StoreEngine } from "#store/engine.ts";
import type { EtcdTlsOptions } from "#store/host/etcd/transport.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { MemoryStore } from "#store/memory.ts";

/** Which engine to use, by the names of the API server's flags. */
export interface StoreFlags {
  readonly store: string;
  readonly "data-dir": string | undefined;
  readonly "etcd-servers": readonly string[];
  readonly "etcd-cafile": string | undefined;
  readonly "etcd-certfile": string | undefined;
  readonly "etcd-keyfile": string | undefined;
}

/** To be called before anything else is made, such as certificates. Throws UsageError for a store that cannot be. */
export function checkStore(settings: StoreFlags): void {
  if (settings.store !== "memory" && settings.store !== "embedded")
    throw new UsageError(`--store is embedded or memory, not ${JSON.stringify(settings.store)}`);
  if (settings.store === "embedded" && settings["etcd-servers"].length === 0) folderOf(settings);
}

function folderOf(settings: StoreFlags): string {
  const folder = settings["data-dir"];
  if (folder !== undefined) return folder;
  throw new UsageError("--data-dir says where the embedded store lives; or use --store=memory or --etcd-servers");
}

export async function openStore(settings: StoreFlags, log: Log, metrics: Metrics = noMetrics): Promise<StoreEngine> {
  checkStore(settings);
  const endpoints = settings["etcd-servers"];
  const [clock, random] = [systemClock, systemRandom];
  if (endpoints.length > 0) {
    const { EtcdStore } = await import("#store/host/etcd.ts"); // with gRPC: 10 MB that others do not need
    const onLeaseFull = (writes: number) => metrics.observe("etcd_lease_object_counts", {}, writes);
    const tls = etcdTls(settings) && { tls: () => etcdTls(settings) ?? {} };
    return new EtcdStore({ endpoints, clock, random, log, onLeaseFull, ...tls });
  }
  if (settings.store === "memory") return new MemoryStore({ clock });
  return openLmdbStore({ folder: folderOf(settings), clock, log });
}

/** As the files are now. */
function etcdTls(settings: StoreFlags): EtcdTlsOptions | undefined {
  const read = (name: "etcd-cafile" | "etcd-certfile" | "etcd-keyfile") => {
    const file = settings[name];
    return file === undefined ? undefined : flagFile(name, file, asText);
  };
  const [ca, cert, key] = [read("etcd-cafile"), read("etcd-certfile"), read("etcd-keyfile")];
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError("--etcd-certfile and --etcd-keyfile belong together");
  if (ca === undefined && cert === undefined) return undefined;
  return { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
}
