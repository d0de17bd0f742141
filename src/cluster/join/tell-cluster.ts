// How a machine that leaves says so to its cluster.
import { Node } from "#api/core/v1/node.ts";
import { systemClock } from "#base/clock.ts";
import { isNotFound } from "#base/errors.ts";
import { connectClient } from "#client/host/connect.ts";
import { leftAnnotation } from "#controllers/machines/left-nodes.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { kubernetesVersion } from "../version.ts";
import { joinedMachine, kubeconfigOf, type MachineMembership } from "./machine-folder.ts";
import { nameServer } from "./machine-servers.ts";
import { isOfAnother } from "./node-claim.ts";

const patienceMs = 10_000;

/** Tells whichever API server answers that this machine is no node any more. */
export async function tellCluster(place: ClusterFolder): Promise<void> {
  const machine = joinedMachine(place);
  if (!machine) return;
  const { server, servers = [server] } = machine;
  let last: unknown;
  for (const one of servers) {
    try {
      nameServer(kubeconfigOf(place), one);
      return await tell(place, machine);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

async function tell(place: ClusterFolder, machine: MachineMembership): Promise<void> {
  const { node: name } = machine;
  const { client, close } = await connectClient({
    explicit: kubeconfigOf(place),
    env: {},
    userAgent: `knarr/${kubernetesVersion}`,
    clock: systemClock,
    signal: AbortSignal.timeout(patienceMs),
  });
  try {
    const present = await client.find(Node, { name });
    if (!present || isOfAnother(present, machine)) return;
    await client.patch(Node, { name }, "merge", { metadata: { annotations: { [leftAnnotation]: "true" } } });
  } catch (error) {
    if (!isNotFound(error)) throw error; // somebody has deleted it before
  } finally {
    close();
  }
}
