// Takes this machine out of the cluster that it has joined, and leaves nothing of that behind.
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { explain } from "#base/errors.ts";
import { applySteps } from "#network/host/apply-steps.ts";
import { removePolicyRules } from "#network/policy/enforcer.ts";
import { cleanUpProxy } from "../alone/proxy-node.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { removeContext } from "../local/contexts.ts";
import { endProcess } from "../local/end.ts";
import { readSettings } from "../local/settings.ts";
import { removeIfEmpty } from "../machine/local-nodes.ts";
import { thisMachine } from "../machine/node-location.ts";
import { joinedMachine, type MachineMembership } from "./machine-folder.ts";
import { machineNode, stepsDownMachine } from "./machine-node.ts";
import { tellCluster } from "./tell-cluster.ts";

const patienceMs = 10_000;

/** Ends all that runs on the node; what is on disk stays. */
export async function stopMachine(place: ClusterFolder, machine: MachineMembership): Promise<void> {
  await endProcess(place, new AbortController().signal);
  await machineNode(place, machine, "").containerd.stop();
}

/** Resolves with why the cluster could not be told; undefined if it was. Rejects, and changes nothing, if the others could not go on. */
export async function leaveCluster(
  place: ClusterFolder,
  { force }: { readonly force: boolean },
): Promise<string | undefined> {
  const machine = joinedMachine(place);
  if (!machine) return undefined;
  const unled = machine.isControlPlane ? await leaveControlPlane(place, force) : undefined;
  // Before the cluster is told: it takes the pods for gone as soon as the node is.
  await stopMachine(place, machine);
  let problem: string | undefined;
  try {
    await tellCluster(place);
  } catch (error) {
    problem = explain(error);
  }
  await forgetMachine(place);
  return problem ?? unled;
}

/** Why etcd could not be told, if that does not matter. */
async function leaveControlPlane(place: ClusterFolder, force: boolean): Promise<string | undefined> {
  const [{ leaveEtcd }, { liveServers, mustBeSeveral }] = await Promise.all([
    import("./leave-etcd.ts"),
    import("./other-servers.ts"),
  ]);
  try {
    if (!force && !readSettings(place)?.ha) mustBeSeveral(await liveServers(place));
    await leaveEtcd(place, { force }, new AbortController().signal);
    return undefined;
  } catch (error) {
    if (!force) throw error;
    return explain(error);
  }
}

/** After a try to join that failed. */
export async function abandonMachine(place: ClusterFolder): Promise<void> {
  await endProcess(place, new AbortController().signal);
  const { forgetMember } = await import("./control-plane.ts");
  // If etcd cannot be asked there is nobody to tell; a learner that is left there costs no quorum, and is named to whoever joins next.
  await forgetMember(place, AbortSignal.timeout(patienceMs)).catch(() => undefined);
  await forgetMachine(place);
}

/** Ends and removes all that this machine has of the cluster. */
export async function forgetMachine(place: ClusterFolder): Promise<void> {
  const { signal } = new AbortController();
  const machine = joinedMachine(place);
  await endProcess(place, signal);
  if (machine) {
    await machineNode(place, machine, "").containerd.remove();
    await cleanUpProxy();
    await removePolicyRules(thisMachine.run, signal);
    await applySteps(stepsDownMachine(place, machine));
  }
  const kubeconfig = machine?.isControlPlane ? readSettings(place)?.kubeconfig : undefined;
  if (kubeconfig !== undefined) await removeContext(place, kubeconfig, signal);
  rmSync(place.runFolder, { recursive: true, force: true });
  removeIfEmpty(dirname(place.runFolder));
  rmSync(place.folder, { recursive: true, force: true });
}
