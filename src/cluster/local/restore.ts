// Puts a snapshot in the place of a cluster's store. The snapshot is checked and copied while the cluster still runs, so that a bad one changes
// nothing; what the cluster had before is kept beside it, and comes back if the cluster cannot start from the snapshot.
import { existsSync, renameSync, rmSync } from "node:fs";
import { systemClock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { type CheckReport, restoreStore } from "#store/host/lmdb-operate.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import { readSettings, type Settings, storeOf } from "./settings.ts";
import { lockStart } from "./start.ts";
import { startAgain } from "./start-again.ts";
import { stopCluster } from "./stop.ts";

export interface RestoredCluster {
  readonly report: CheckReport;
  /** Where the store from before is. */
  readonly kept: string | undefined;
  readonly isRunning: boolean;
}

export interface RestoreOptions {
  readonly place: ClusterFolder;
  readonly snapshot: string;
  readonly onProgress: (done: number, total: number) => void;
  /** The snapshot is sound; from now on the cluster is changed. */
  readonly onChecked: () => void;
  /** Starts the cluster again; defaults to as `knarr start` does. */
  readonly start?: (place: ClusterFolder, settings: Settings) => Promise<void>;
}

/** The cluster runs afterwards if it ran before. */
export async function restoreCluster(options: RestoreOptions): Promise<RestoredCluster> {
  const { place, snapshot, onProgress, onChecked, start = startAgain } = options;
  place.mustExist();
  const settings = readSettings(place);
  if (!settings || storeOf(settings) !== "embedded")
    throw new Error(
      `cluster ${JSON.stringify(place.name)} has no embedded store: what it knows is ${settings && storeOf(settings) === "etcd" ? "in etcd, to be restored there" : "in memory alone"}`,
    );
  const draft = `${place.store}.restoring`;
  rmSync(draft, { recursive: true, force: true });
  const { signal } = new AbortController();
  try {
    const report = await restoreStore(snapshot, draft, onProgress);
    onChecked();
    const wasRunning = await stopCluster(place, settings, signal);
    const kept = exchange(place, draft);
    if (wasRunning) await startOrUndo({ place, settings, kept, start }, signal);
    return { report, kept, isRunning: wasRunning };
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Nobody can start the cluster meanwhile: it would begin with an empty store. */
function exchange(place: ClusterFolder, draft: string): string | undefined {
  const release = lockStart(place);
  try {
    if (place.process) throw new Error(`cluster ${JSON.stringify(place.name)} was started meanwhile`);
    const kept = existsSync(place.store) ? keptName(place) : undefined;
    if (kept !== undefined) renameSync(place.store, kept);
    renameSync(draft, place.store);
    return kept;
  } finally {
    release();
  }
}

function keptName({ store }: ClusterFolder): string {
  const stamp = new Date(systemClock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const names = Array.from({ length: 100 }, (_, i) => `${store}.before-${stamp}${i === 0 ? "" : `-${i}`}`);
  const free = names.find((name) => !existsSync(name));
  if (free === undefined) throw new Error(`there is no free name for the store from before: ${names[0]}`);
  return free;
}

interface ExchangedFolder {
  readonly place: ClusterFolder;
  readonly settings: Settings;
  readonly kept: string | undefined;
  readonly start: NonNullable<RestoreOptions["start"]>;
}

async function startOrUndo({ place, settings, kept, start }: ExchangedFolder, signal: AbortSignal): Promise<void> {
  try {
    await start(place, settings);
  } catch (cause) {
    if (kept === undefined) throw cause;
    await stopCluster(place, settings, signal);
    rmSync(place.store, { recursive: true, force: true });
    renameSync(kept, place.store);
    const again = await start(place, settings).then(
      () => "it runs again with what it had before",
      (error: unknown) => `what it had before is in its place again, but it does not start: ${explain(error)}`,
    );
    throw new Error(`cluster ${JSON.stringify(place.name)} could not be started from the snapshot; ${again}`, {
      cause,
    });
  }
}
