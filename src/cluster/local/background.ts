// Starts a cluster in a process of its own, which goes on when this one ends. The two talk until it is ready: this one looks
// at the machine while that one loads, that one tells how far it is. If either ends before, so does the other.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { resolve } from "node:path";
import { systemClock } from "#base/clock.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import { graceMs } from "./end.ts";
import { type Settings, writeSettings } from "./settings.ts";
import type { StartStep } from "./step.ts";

/** What the cluster's process says to the one that started it. */
export type BackgroundMessage = { readonly step: StartStep } | { readonly failed: string };
/** The messages to the cluster's process: its settings are written; the starter leaves. */
export type Order = "proceed" | "stay";

export interface BackgroundOptions {
  readonly place: ClusterFolder;
  /** What the cluster is to be, once this machine is fit for it. Called when its process is loading. */
  readonly prepare: () => Promise<Settings>;
  /** When to return. */
  readonly until: StartStep["is"];
  readonly onStep: (step: StartStep) => void;
}

/** Rejects when the cluster cannot be started, or when the signal aborts; its process has ended by then. */
export async function startInBackground(options: BackgroundOptions, signal: AbortSignal): Promise<void> {
  const { place, prepare, until, onStep } = options;
  const child = spawnCluster(place);
  const exited = once(child, "exit");
  const tell = (order: Order) => void (child.connected && child.send(order));
  const arrived = Promise.withResolvers<void>();
  let reason = `it ended before it was ready; ${place.log} may say why`;
  child.on("message", (told: BackgroundMessage) => {
    if ("failed" in told) reason = told.failed;
    else {
      onStep(told.step);
      if (told.step.is === until) arrived.resolve();
    }
  });
  exited.then(
    () => arrived.reject(new Error(`start cluster ${JSON.stringify(place.name)}: ${reason}`)),
    (cause: unknown) => arrived.reject(new Error("start a process for the cluster", { cause })),
  );
  const prepared = (async () => {
    const settings = await prepare();
    writeSettings(place, settings);
    tell("proceed");
  })();
  try {
    await unlessAborted(Promise.all([arrived.promise, prepared]), signal);
  } catch (error) {
    child.kill("SIGTERM");
    const cancel = systemClock.after(graceMs, () => child.kill("SIGKILL"));
    await Promise.allSettled([exited, prepared]); // so that nobody writes any more when this is over
    cancel();
    throw error;
  }
  tell("stay");
  child.disconnect();
  child.unref();
}

function spawnCluster(place: ClusterFolder): ChildProcess {
  const log = openSync(place.log, "a", 0o600);
  try {
    const args = [resolve(process.argv[1] ?? ""), "run-cluster", `--name=${place.name}`, `--data-dir=${place.root}`];
    return spawn(process.execPath, [...process.execArgv, ...args], {
      detached: true,
      cwd: place.folder, // not where it happens to be started, which someone may want to unmount
      stdio: ["ignore", log, log, "ipc"],
    });
  } finally {
    closeSync(log);
  }
}
