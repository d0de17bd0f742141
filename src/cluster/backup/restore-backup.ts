// Makes the cluster of a backup anew on this machine. Other machines join it again.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock as clock } from "#base/clock.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import { silentLog } from "#base/log.ts";
import { copyStore } from "#store/copy.ts";
import type { StoreEngine } from "#store/engine.ts";
import { type LmdbStore, openLmdbStore } from "#store/host/lmdb.ts";
import { type CheckReport, checkStore, restoreStore } from "#store/host/lmdb-operate.ts";
import { compareStores, raiseRevision } from "#store/move.ts";
import { ensureEtcd } from "../etcd/etcd-program.ts";
import { joinedMachine } from "../join/machine-folder.ts";
import { placeFiles } from "../join/shared-files.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { removeCluster } from "../local/remove.ts";
import { type Settings, storeOf, writeSettings } from "../local/settings.ts";
import { openStore } from "../open-store.ts";
import { type BackupContent, readBackup } from "./backup-file.ts";

export interface RestoreBackupOptions {
  readonly backup: string;
  /** The place for a cluster of that name; the name is the one of the backup if nobody asked for another. */
  readonly placeFor: (cluster: string) => ClusterFolder;
  /** What is different on this machine. */
  readonly changed: (settings: Settings, place: ClusterFolder) => Settings;
  readonly install: boolean;
  readonly progress: (text: string) => void;
}

export interface RestoredBackup {
  readonly place: ClusterFolder;
  readonly settings: Settings;
  readonly content: BackupContent;
  readonly report: CheckReport;
}

/** The cluster does not run yet. Nothing is left of it if this fails. */
export async function restoreBackup(options: RestoreBackupOptions): Promise<RestoredBackup> {
  const { backup, placeFor, changed, progress } = options;
  const root = placeFor("x").root;
  makeFolder(root);
  const draft = mkdtempSync(join(root, ".restore-"));
  try {
    progress("checking the backup");
    const { content, store } = await readBackup(backup, draft);
    const report = await checkStore(store);
    const place = placeFor(content.cluster);
    mustBeFree(place);
    try {
      makeFolder(place.folder);
      const settings = changed(placeFiles(place, content), place);
      await fill(place, settings, store, options);
      writeSettings(place, settings);
      return { place, settings, content, report };
    } catch (error) {
      await removeCluster(place);
      throw error;
    }
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function mustBeFree(place: ClusterFolder): void {
  if (!place.exists && !joinedMachine(place)) return;
  throw new Error(
    `there is a cluster ${JSON.stringify(place.name)} on this machine; "knarr down --name=${place.name}" ends it for good, or choose another --name`,
  );
}

async function fill(
  place: ClusterFolder,
  settings: Settings,
  store: string,
  { install, progress }: RestoreBackupOptions,
): Promise<void> {
  if (storeOf(settings) === "embedded") {
    await restoreStore(store, place.store);
    return;
  }
  const source = await openLmdbStore({ folder: join(store, ".."), clock });
  try {
    if (!settings.ha) {
      const target = await openStore({ ...settings, "data-dir": place.store }, silentLog);
      await copyInto(target, source, progress).finally(() => target.close());
      return;
    }
    await ensureEtcd({ install, progress }, new AbortController().signal);
    const [{ withFreshEtcd }, { writeMember }] = await Promise.all([
      import("../etcd/fresh-etcd.ts"),
      import("../etcd/local-etcd.ts"),
    ]);
    const { member } = await withFreshEtcd(place, settings, (target) => copyInto(target, source, progress));
    writeMember(place, member);
  } finally {
    await source.close();
  }
}

/** Revisions never go back, and whoever knows one of before is told to list again. */
async function copyInto(target: StoreEngine, source: LmdbStore, progress: (text: string) => void): Promise<void> {
  const { signal } = new AbortController();
  const percent = (what: string) => (done: number, total: number) =>
    progress(`${what}: ${Math.floor((100 * done) / Math.max(1, total))}%`);
  await raiseRevision(target, await source.revision(), signal, percent("counting revisions on"));
  await copyStore(source, target, signal, percent("copying"));
  await compareStores(source, target, signal);
  await target.compact(await target.revision(signal));
}
