// Brings a cluster of this machine, or a machine that has joined one, to the version of this checkout. The control plane first: its process ends
// and starts again, while all containers go on. Then the nodes of this machine, one after the other: drained, restarted with all that runs on
// them, and let in again. If the new version does not come up, the one of before does.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { Lease } from "#api/coordination/v1/lease.ts";
import { Node } from "#api/core/v1/node.ts";
import { systemClock as clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { isReady } from "#rules/conditions.ts";
import { millisOf } from "#schema/time.ts";
import { makeBackup } from "../backup/make-backup.ts";
import { joinedMachine } from "../join/machine-folder.ts";
import { withConnection } from "../join/start-machine.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { cordonNode, drainNode } from "../local/drain.ts";
import { endProcess } from "../local/end.ts";
import { nodeNames, readSettings, type Settings, storeOf } from "../local/settings.ts";
import { startAgain } from "../local/start-again.ts";
import { switchNode } from "../local/switches.ts";
import { localNodes } from "../machine/local-nodes.ts";
import { type FormerProgram, formerProgram, startFormer, versionOf } from "./former-program.ts";
import { type RewriteResult, rewriteObjects } from "./rewrite-objects.ts";

export interface UpgradeOptions {
  readonly place: ClusterFolder;
  /** Whether nodes are drained and restarted; where there is no other node to go to, they are not. */
  readonly drains: boolean;
  readonly force: boolean;
  readonly drainTimeout: string;
  readonly progress: (text: string) => void;
}

export interface UpgradeResult {
  readonly from: string;
  readonly objects: RewriteResult | undefined;
  /** The nodes that were restarted. */
  readonly nodes: readonly string[];
  /** Of the state before; undefined on a machine without any. */
  readonly backup: string | undefined;
}

const nodeMs = 180_000;
const lookMs = 200;

export async function upgradeCluster(options: UpgradeOptions): Promise<UpgradeResult> {
  const { place, progress } = options;
  const former = formerOf(place);
  const from = await versionOf(former);
  const settings = readSettings(place);
  const backup = settings && (await safeBefore(place, settings, progress));
  if (settings?.ha) await mustSpare(place);
  progress("restarting it with this version");
  await orUndo(place, former, from, async () => {
    await endProcess(place, new AbortController().signal);
    await startAgain(place);
  });
  if (!settings) return { from, objects: undefined, nodes: [], backup };
  progress("writing objects anew that are stored in a form of before");
  const { signal } = new AbortController();
  const objects = await withConnection(place.adminKubeconfig, signal, rewriteObjects);
  const nodes = options.drains && !joinedMachine(place) ? await drainable(place, settings) : [];
  for (const node of nodes) await restartDrained(node, options, settings, (work) => orUndo(place, former, from, work));
  return { from, objects, nodes, backup };
}

function formerOf(place: ClusterFolder): FormerProgram {
  if (!joinedMachine(place)) place.mustExist();
  const holder = place.process;
  if (!holder)
    throw new Error(
      `cluster ${JSON.stringify(place.name)} does not run here; "knarr start" starts it, with the version of this checkout`,
    );
  return formerProgram(holder.pid);
}

/** Reads all that is stored with the code of this version, before anything is changed. */
async function safeBefore(place: ClusterFolder, settings: Settings, progress: (text: string) => void): Promise<string> {
  if (storeOf(settings) === "memory")
    throw new Error(`cluster ${JSON.stringify(place.name)} keeps its state in memory, which would be lost`);
  progress("backing it up");
  const target = join(place.folder, "before-upgrade.backup");
  rmSync(target, { force: true });
  await makeBackup({ place, target, onProgress: () => undefined });
  return target;
}

/** Of several control planes one at a time: the others have to go on meanwhile. */
async function mustSpare(place: ClusterFolder): Promise<void> {
  const { problemOfOthers } = await import("../join/leave-etcd.ts");
  const problem = await problemOfOthers(place, new AbortController().signal);
  if (problem !== undefined) throw new Error(`${problem}; start those first, and upgrade one machine at a time`);
}

async function orUndo(
  place: ClusterFolder,
  former: FormerProgram,
  from: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (cause) {
    if (former.isReplaced)
      throw new Error(
        `the upgrade failed, and version ${from} is no more in ${former.command.at(-1)}: put it back there, and run "knarr start" with it`,
        { cause },
      );
    const now = await undo(place, former).then(
      () => `it runs with version ${from} again`,
      (error: unknown) => `it does not start with version ${from} either: ${explain(error)}`,
    );
    throw new Error(`the upgrade failed; ${now}`, { cause });
  }
}

async function undo(place: ClusterFolder, former: FormerProgram): Promise<void> {
  await endProcess(place, new AbortController().signal);
  await startFormer(former, place);
}

/** The nodes of this machine, if there is another one that their pods can go to. */
async function drainable(place: ClusterFolder, settings: Settings): Promise<readonly string[]> {
  if (settings.runtime !== "containerd") return [];
  const { items } = await withConnection(place.adminKubeconfig, new AbortController().signal, ({ client }) =>
    client.list(Node),
  );
  const open = items.filter((node) => isReady(node) && !node.spec.unschedulable).map(({ metadata }) => metadata.name);
  return open.length < 2 ? [] : nodeNames(settings).filter((name) => open.includes(name));
}

/** A node that cannot be drained is no failure of the new version: its containers go on with that. */
async function restartDrained(
  node: string,
  { place, force, drainTimeout, progress }: UpgradeOptions,
  settings: Settings,
  orUndone: (work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  progress(`draining ${node}`);
  try {
    if ((await drainNode(place, node, { force, timeout: drainTimeout })) !== 0)
      throw new Error(
        `the control plane is upgraded, but node ${node} could not be drained; its containers go on. Run it again when that is settled, or with --drain=false`,
      );
    progress(`restarting ${node}`);
    await orUndone(() => restartNode(place, node, settings));
  } finally {
    await cordonNode(place, node, false);
  }
}

async function restartNode(place: ClusterFolder, name: string, settings: Settings): Promise<void> {
  const signal = AbortSignal.timeout(nodeMs);
  const containerd = localNodes(place, settings).nodes.find((node) => node.name === name)?.containerd;
  switchNode(place, name, false);
  try {
    while (containerd?.pid() !== undefined) await clock.sleep(lookMs, signal);
  } finally {
    switchNode(place, name, true);
  }
  const since = clock.now();
  const lease = { namespace: "kube-node-lease", name };
  await withConnection(place.adminKubeconfig, signal, async ({ client }) => {
    // A short restart goes unnoticed in the Node: that its kubelet is there again, its lease says first.
    const isBack = async () => {
      const { spec } = await client.get(Lease, lease);
      return millisOf(spec.renewTime ?? "") > since && isReady(await client.get(Node, { name }));
    };
    while (containerd?.pid() === undefined || !(await isBack())) await clock.sleep(lookMs, signal);
  });
}
