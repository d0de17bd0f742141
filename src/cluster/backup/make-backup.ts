// Backs a cluster up while it runs: its store as of one revision, and beside it the keys and settings without which nobody could read or serve it.
import { mkdtempSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { systemClock as clock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom as random } from "#base/random.ts";
import { timeOf } from "#schema/time.ts";
import { copyStore } from "#store/copy.ts";
import type { StoreEngine } from "#store/engine.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { type CheckReport, checkStore, snapshotStore } from "#store/host/lmdb-operate.ts";
import { textsOf } from "../join/shared-files.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { readSettings, type Settings, storeOf } from "../local/settings.ts";
import { openStore } from "../open-store.ts";
import { knarrVersion, kubernetesVersion } from "../version.ts";
import { writeBackup } from "./backup-file.ts";

export interface BackupOptions {
  readonly place: ClusterFolder;
  readonly target: string;
  readonly onProgress: (done: number, total: number) => void;
}

/** Resolves with what is in it. An embedded store may also be stopped; of an etcd more than half of the members have to run. */
export async function makeBackup({ place, target, onProgress }: BackupOptions): Promise<CheckReport> {
  place.mustExist();
  const settings = readSettings(place);
  if (!settings || storeOf(settings) === "memory")
    throw new Error(`cluster ${JSON.stringify(place.name)} keeps its state in memory: there is nothing to back up`);
  const draft = mkdtempSync(join(dirname(resolve(target)), ".knarr-backup-"));
  try {
    const { store, report } = await copyOf(place, settings, draft, onProgress);
    const { kubeconfig: _person, pluginFolder: _machine, ...rest } = settings;
    const content = {
      cluster: place.name,
      versions: { knarr: knarrVersion, kubernetes: kubernetesVersion },
      madeAt: timeOf(clock.now()),
      settings: rest,
      texts: textsOf(place, settings),
    };
    await writeBackup(target, content, store);
    return report;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

interface StoreCopy {
  readonly store: string;
  readonly report: CheckReport;
}

async function copyOf(
  place: ClusterFolder,
  settings: Settings,
  draft: string,
  onProgress: BackupOptions["onProgress"],
): Promise<StoreCopy> {
  if (storeOf(settings) === "embedded") {
    const store = join(draft, "snapshot");
    return { store, report: await snapshotStore(place.store, store, onProgress) };
  }
  const source = await openEtcdOf(place, settings);
  try {
    const engine = await openLmdbStore({ folder: draft, clock });
    try {
      await copyStore(source, engine, new AbortController().signal, onProgress);
    } finally {
      await engine.close();
    }
  } catch (cause) {
    throw new Error(
      `the etcd of cluster ${JSON.stringify(place.name)} could not be copied; more than half of its members have to run ("knarr start" starts the one of this machine)`,
      { cause },
    );
  } finally {
    await source.close();
  }
  const store = join(draft, "store.lmdb");
  return { store, report: await checkStore(store) };
}

async function openEtcdOf(place: ClusterFolder, settings: Settings): Promise<StoreEngine> {
  if (!settings.ha) return openStore({ ...settings, "data-dir": place.store }, silentLog);
  const [{ EtcdStore }, { etcdCertificates }, { readMember }] = await Promise.all([
    import("#store/host/etcd.ts"),
    import("../etcd/etcd-certificates.ts"),
    import("../etcd/local-etcd.ts"),
  ]);
  const member = readMember(place);
  if (!member) throw new Error(`${place.folder} has no member of etcd`);
  const { client: tls } = etcdCertificates(place.certificates, [member.address], clock);
  return new EtcdStore({ endpoints: member.endpoints, tls, clock, random, log: silentLog });
}
