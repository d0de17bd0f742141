// Moves the state of a cluster of this machine from its embedded store to an etcd that is started for it. The cluster runs meanwhile; only for
// the last part its process ends, and starts again on etcd. Containers go on. If it cannot start so, it starts again as it was.
import { systemClock as clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { copyStore } from "#store/copy.ts";
import type { EtcdStore } from "#store/host/etcd.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { catchUp, compareStores, raiseRevision } from "#store/move.ts";
import { ensureEtcd } from "../etcd/etcd-program.ts";
import { withFreshEtcd } from "../etcd/fresh-etcd.ts";
import { writeMember } from "../etcd/local-etcd.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { isInPods } from "../local/control-plane-settings.ts";
import { endProcess } from "../local/end.ts";
import { readSettings, type Settings, storeOf, writeSettings } from "../local/settings.ts";
import { lockStart } from "../local/start.ts";
import { startAgain } from "../local/start-again.ts";
import { openSource } from "./location.ts";

export interface MoveOptions {
  readonly place: ClusterFolder;
  readonly install: boolean;
  /** Called with what is being done. */
  readonly progress: (text: string) => void;
}

export interface MoveResult {
  readonly entries: number;
  /** How long nothing could be written; undefined if the cluster did not run. */
  readonly pauseMs: number | undefined;
}

export async function moveToEtcd({ place, install, progress }: MoveOptions): Promise<MoveResult> {
  place.mustExist();
  const settings = readSettings(place);
  if (!settings || storeOf(settings) !== "embedded")
    throw new Error(
      `cluster ${JSON.stringify(place.name)} has no embedded store: its state is ${settings && storeOf(settings) === "etcd" ? "in etcd already" : "in memory alone"}`,
    );
  if (isInPods(settings))
    throw new Error(
      `cluster ${JSON.stringify(place.name)} has its control plane in pods, which only take an etcd from the beginning: make another with "knarr up --control-plane pods --ha"`,
    );
  await ensureEtcd({ install, progress }, new AbortController().signal);
  const { member, result: moved } = await withFreshEtcd(place, settings, (target) =>
    move(place, settings, target, progress),
  );
  if (moved.wasRunning) progress("starting the cluster on etcd");
  try {
    writeMember(place, member);
    writeSettings(place, { ...moved.settings, ha: true });
    moved.release();
    if (moved.wasRunning) await startAgain(place);
  } catch (cause) {
    await undo(place, moved, cause);
  }
  return { entries: moved.entries, pauseMs: moved.wasRunning ? clock.elapsed() - moved.pausedAt : undefined };
}

interface MoveState {
  readonly entries: number;
  readonly wasRunning: boolean;
  readonly pausedAt: number;
  /** As they were when the process ended. */
  readonly settings: Settings;
  /** Lets others start the cluster. */
  readonly release: () => void;
}

async function move(
  place: ClusterFolder,
  before: Settings,
  target: EtcdStore,
  progress: (text: string) => void,
): Promise<MoveState> {
  progress("copying what is there");
  const since = await copyMost(place, target, progress);
  progress("pausing the cluster for the rest");
  const release = lockStart(place);
  const pausedAt = clock.elapsed();
  const wasRunning = await endProcess(place, new AbortController().signal);
  try {
    const entries = await copyRest(place, target, since);
    return { entries, wasRunning, pausedAt, settings: readSettings(place) ?? before, release };
  } catch (cause) {
    release();
    if (wasRunning) await startAgain(place);
    throw new Error(`cluster ${JSON.stringify(place.name)} was not moved, and goes on as before`, { cause });
  }
}

/** Resolves with the revision that was copied. */
async function copyMost(place: ClusterFolder, target: EtcdStore, progress: (text: string) => void): Promise<number> {
  const { signal } = new AbortController();
  const source = await openSource(place.store, {});
  try {
    const percent = (what: string) => (done: number, total: number) =>
      progress(`${what}: ${Math.floor((100 * done) / Math.max(1, total))}%`);
    await raiseRevision(target, await source.engine.revision(), signal, percent("counting revisions on"));
    const { revision } = await copyStore(source.engine, target, signal, percent("copying what is there"));
    return revision;
  } finally {
    await source.close();
  }
}

async function copyRest(place: ClusterFolder, target: EtcdStore, since: number): Promise<number> {
  const { signal } = new AbortController();
  const source = await openLmdbStore({ folder: place.store, clock });
  try {
    const { entries } = await catchUp(source, target, since, signal);
    await compareStores(source, target, signal);
    await raiseRevision(target, await source.revision(), signal);
    // Whoever asks for changes since a revision of the embedded store is told to list again.
    await target.compact(await target.revision(signal));
    return entries;
  } finally {
    await source.close();
  }
}

async function undo(place: ClusterFolder, { settings, wasRunning }: MoveState, cause: unknown): Promise<never> {
  await endProcess(place, new AbortController().signal);
  writeSettings(place, settings);
  const again = wasRunning
    ? await startAgain(place).then(
        () => "it runs again on its embedded store",
        (error: unknown) => `its embedded store is as it was, but it does not start: ${explain(error)}`,
      )
    : "its embedded store is as it was";
  throw new Error(`cluster ${JSON.stringify(place.name)} could not be started on etcd; ${again}`, { cause });
}
