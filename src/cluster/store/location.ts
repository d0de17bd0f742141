// Where a store is, as a person writes it.
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import type { StoreEngine } from "#store/engine.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { snapshotStore } from "#store/host/lmdb-operate.ts";

export interface TlsFiles {
  readonly cacert?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface OpenedStore {
  readonly engine: StoreEngine;
  close(): Promise<void>;
}

const isEtcd = (location: string) => /^etcds?:\/\//.test(location);

/** Opens a store to read from it. An embedded one may be in use: then a copy is read. */
export async function openSource(location: string, tls: TlsFiles): Promise<OpenedStore> {
  if (isEtcd(location)) return openEtcd(location, tls);
  if (!existsSync(location)) throw new Error(`${location} does not exist`);
  const folder = mkdtempSync(join(tmpdir(), "knarr-copy-"));
  try {
    const file = join(folder, "store.lmdb");
    if (statSync(location).isDirectory()) await snapshotStore(location, file);
    else copyFileSync(location, file);
    const engine = await openLmdbStore({ folder, clock: systemClock });
    return {
      engine,
      async close() {
        await engine.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Opens a store to write into it. */
export async function openTarget(location: string, tls: TlsFiles): Promise<OpenedStore> {
  if (isEtcd(location)) return openEtcd(location, tls);
  if (existsSync(location) && !statSync(location).isDirectory())
    throw new UsageError(`${location} is a file; give a folder, or etcd://HOST:PORT`);
  const engine = await openLmdbStore({ folder: location, clock: systemClock });
  return { engine, close: () => engine.close() };
}

function openEtcd(location: string, { cacert, cert, key }: TlsFiles): OpenedStore {
  const [, scheme, hosts = ""] = /^(etcds?):\/\/(.*?)\/?$/.exec(location) ?? [];
  const endpoints = hosts.split(",").filter((host) => host !== "");
  if (endpoints.length === 0) throw new UsageError(`"${location}" names no member; write etcd://HOST:PORT`);
  const isSecure = scheme === "etcds";
  const engine = new EtcdStore({
    endpoints: endpoints.map((host) => `${isSecure ? "https" : "http"}://${host}`),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    ...(isSecure && {
      tls: {
        ...(cacert && { ca: readFileSync(cacert, "utf8") }),
        ...(cert && { cert: readFileSync(cert, "utf8") }),
        ...(key && { key: readFileSync(key, "utf8") }),
      },
    }),
  });
  return { engine, close: () => engine.close() };
}
