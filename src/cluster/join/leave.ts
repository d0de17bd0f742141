// Takes this machine out of the cluster that it has joined, and leaves nothing of that behind.
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { Node } from "#api/core/v1/node.ts";
import { systemClock } from "#base/clock.ts";
import { explain, isNotFound } from "#base/errors.ts";
import { connectClient } from "#client/host/connect.ts";
import { leftAnnotation } from "#controllers/machines/left-nodes.ts";
import { applySteps } from "#network/host/apply-steps.ts";
import { removePolicyRules } from "#network/policy/enforcer.ts";
import { cleanUpProxy } from "../alone/proxy-node.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { endProcess } from "../local/end.ts";
import { removeIfEmpty } from "../machine/local-nodes.ts";
import { thisMachine } from "../machine/node-location.ts";
import { kubernetesVersion } from "../version.ts";
import { joinedMachine, kubeconfigOf, type MachineMembership } from "./machine-folder.ts";
import { machineNode, stepsDownMachine } from "./machine-node.ts";

const patienceMs = 20_000;

/** Ends all that runs on the node; what is on disk stays. */
export async function stopMachine(place: ClusterFolder, machine: MachineMembership): Promise<void> {
  await endProcess(place, new AbortController().signal);
  await machineNode(place, machine, "").containerd.stop();
}

/** Resolves with why the cluster could not be told; undefined if it was. */
export async function leaveCluster(place: ClusterFolder): Promise<string | undefined> {
  const machine = joinedMachine(place);
  if (!machine) return undefined;
  // Before the cluster is told: it takes the pods for gone as soon as the node is.
  await stopMachine(place, machine);
  let problem: string | undefined;
  try {
    await tell(place, machine.node);
  } catch (error) {
    problem = explain(error);
  }
  await forgetMachine(place);
  return problem;
}

async function tell(place: ClusterFolder, name: string): Promise<void> {
  const { client, close } = await connectClient({
    explicit: kubeconfigOf(place),
    env: {},
    userAgent: `knarr/${kubernetesVersion}`,
    clock: systemClock,
    signal: AbortSignal.timeout(patienceMs),
  });
  try {
    await client.patch(Node, { name }, "merge", { metadata: { annotations: { [leftAnnotation]: "true" } } });
  } catch (error) {
    if (!isNotFound(error)) throw error; // somebody has deleted it before
  } finally {
    close();
  }
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
  rmSync(place.runFolder, { recursive: true, force: true });
  removeIfEmpty(dirname(place.runFolder));
  rmSync(place.folder, { recursive: true, force: true });
}
