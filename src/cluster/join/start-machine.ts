// Starts the process of a machine that has joined, which goes on when this one ends.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { resolve } from "node:path";
import { Node } from "#api/core/v1/node.ts";
import { systemClock as clock } from "#base/clock.ts";
import { retry } from "#base/retry.ts";
import { type Connection, connectClient } from "#client/host/connect.ts";
import { isReady } from "#rules/conditions.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { kubernetesVersion } from "../version.ts";
import { kubeconfigOf, type MachineMembership } from "./machine-folder.ts";
import { isOfAnother, NameTaken } from "./node-claim.ts";
import { markJoined } from "./unfinished.ts";

/** What the process is told when it is to go on alone; if this one ends before, so does that one. */
export const stay = "stay";
/** What the process says before it ends. */
export interface MachineFailure {
  readonly failed: string;
}
const lookMs = 200;
const userAgent = `knarr/${kubernetesVersion}`;

/** Works with a connection by that kubeconfig, and closes it whatever happens. */
export async function withConnection<T>(
  explicit: string,
  signal: AbortSignal,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await connectClient({ explicit, env: {}, userAgent, clock, signal });
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
}

/** Starts the process of a joined machine, and waits until its node is ready. */
export async function startMachine(
  place: ClusterFolder,
  machine: MachineMembership,
  signal: AbortSignal,
): Promise<void> {
  const { node, isControlPlane = false } = machine;
  const child = spawnMachine(place);
  const ended = new AbortController();
  let why = `it ended before it was ready; ${place.log} may say why`;
  child.once("message", ({ failed }: MachineFailure) => {
    why = failed;
  });
  child.once("exit", () => ended.abort(new Error(`start the node: ${why}`)));
  const either = AbortSignal.any([signal, ended.signal]);
  try {
    await withConnection(kubeconfigOf(place), either, async ({ client }) => {
      for (;;) {
        const present = await client.find(Node, { name: node }).catch(() => undefined); // the way there may come and go
        either.throwIfAborted();
        if (present && isOfAnother(present, machine)) throw new NameTaken(node);
        if (present && isReady(present)) break;
        await clock.sleep(lookMs, either);
      }
    });
    if (isControlPlane) await serving(place, node, either);
  } catch (error) {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    }
    throw error;
  }
  await new Promise((sent) => child.send(stay, sent));
  child.disconnect();
  child.unref();
  markJoined(place); // after it was told: one that is cut off before joins again
}

/** Waits until the API server of this machine serves, and says of the node what it is, as kubeadm does. */
async function serving(place: ClusterFolder, name: string, signal: AbortSignal): Promise<void> {
  const role = { metadata: { labels: { "node-role.kubernetes.io/control-plane": "" } } };
  const attempt = () =>
    withConnection(place.adminKubeconfig, signal, async ({ client, read }) => {
      await read("/readyz");
      await client.patch(Node, { name }, "merge", role);
    });
  await retry(attempt, { firstMs: lookMs, maxMs: 1_000, clock }, signal);
}

function spawnMachine(place: ClusterFolder): ChildProcess {
  const log = openSync(place.log, "a", 0o600);
  try {
    const args = [resolve(process.argv[1] ?? ""), "run-machine", `--name=${place.name}`, `--data-dir=${place.root}`];
    return spawn(process.execPath, [...process.execArgv, ...args], {
      detached: true,
      cwd: place.folder, // not where it happens to be started, which someone may want to unmount
      stdio: ["ignore", log, log, "ipc"],
    });
  } finally {
    closeSync(log);
  }
}
