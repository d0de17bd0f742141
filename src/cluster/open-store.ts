import { readFileSync } from "node:fs";
import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import type { StoreEngine } from "#store/engine.ts";
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

export async function openStore(settings: StoreFlags, log: Log): Promise<StoreEngine> {
  const endpoints = settings["etcd-servers"];
  const [clock, random] = [systemClock, systemRandom];
  if (endpoints.length > 0) {
    const { EtcdStore } = await import("#store/host/etcd.ts"); // with gRPC: 10 MB that others do not need
    return new EtcdStore({ endpoints, clock, random, log, ...etcdTls(settings) });
  }
  if (settings.store === "memory") return new MemoryStore({ clock });
  if (settings.store !== "embedded")
    throw new UsageError(`--store is embedded or memory, not ${JSON.stringify(settings.store)}`);
  const folder = settings["data-dir"];
  if (folder === undefined)
    throw new UsageError("--data-dir says where the embedded store lives; or use --store=memory or --etcd-servers");
  return openLmdbStore({ folder, clock, log });
}

function etcdTls(settings: StoreFlags) {
  const read = (file: string | undefined) => (file === undefined ? undefined : readFileSync(file, "utf8"));
  const [ca, cert, key] = [
    read(settings["etcd-cafile"]),
    read(settings["etcd-certfile"]),
    read(settings["etcd-keyfile"]),
  ];
  if (ca === undefined && cert === undefined) return {};
  return {
    tls: { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) },
  };
}
