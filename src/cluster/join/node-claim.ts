// Which machine a node is. Two machines of one name could both get a certificate for it before either is ready, so each machine has a number
// of its own, and the Node has that of the machine whose it is: the other learns that the name is taken, and does no harm.
import { Node } from "#api/core/v1/node.ts";
import { systemClock as clock } from "#base/clock.ts";
import { explain, isConflict, isReason } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { retry } from "#base/retry.ts";
import type { Client } from "#client/client.ts";
import { leftAnnotation } from "#controllers/machines/left-nodes.ts";
import { isReady } from "#rules/conditions.ts";
import type { MachineMembership } from "./machine-folder.ts";

export const machineAnnotation = "knarr.dev/machine";
const lookMs = 50;

export class NameTaken extends Error {
  constructor(node: string) {
    super(
      `there is a node ${JSON.stringify(node)} in the cluster already, and it is alive; choose another name with --node-name, or have that one leave first`,
    );
  }
}

/** Resolves with the UID of a dead node that has the name, if there is one. Throws NameTaken if a living node has it. */
export async function freeName(client: Client, name: string, signal: AbortSignal): Promise<string | undefined> {
  for (;;) {
    const present = await client.find(Node, { name });
    if (!present || !isReady(present)) return present?.metadata.uid;
    if (present.metadata.annotations?.[leftAnnotation] === undefined) throw new NameTaken(name);
    await clock.sleep(lookMs, signal); // its machine has just left it, so it is gone in a moment
  }
}

/** Whether the node is that of another machine, as far as one can tell: machines that joined long ago have no number. */
export function isOfAnother({ metadata }: Node, { claim, replaces }: MachineMembership): boolean {
  const owner = metadata.annotations?.[machineAnnotation];
  return owner !== undefined && claim !== undefined && owner !== claim && metadata.uid !== replaces;
}

/** Makes the Node, for which the cluster then finds a network: containers can have addresses only after that. Resolves with that network. */
export async function registerNode(
  client: Client,
  machine: MachineMembership,
  log: Log,
  signal: AbortSignal,
): Promise<string> {
  const { node: name } = machine;
  const api = client.bound({ signal });
  const attempt = async (): Promise<string> => {
    const { spec } = await claimedNode(api, machine);
    if (spec.podCIDR === undefined) throw new Error("the cluster has not given the node a network yet");
    return spec.podCIDR;
  };
  let said = "";
  const when = (error: unknown) => {
    if (error instanceof NameTaken) return false;
    const why = explain(error);
    if (why !== said) log.info("waiting for the cluster", { node: name, reason: why });
    said = why;
    return true;
  };
  return retry(attempt, { firstMs: lookMs, maxMs: 5_000, factor: 1.3, clock, when }, signal);
}

async function claimedNode(api: Client, machine: MachineMembership): Promise<Node> {
  const { node: name, labels, taints, claim } = machine;
  const annotations = claim === undefined ? {} : { annotations: { [machineAnnotation]: claim } };
  const present = await api.find(Node, { name });
  if (!present) {
    const spec = taints.length > 0 ? { taints: [...taints] } : {};
    const made = { apiVersion: "v1", kind: "Node", metadata: { name, labels, ...annotations }, spec } as const;
    try {
      return await api.create(Node, made);
    } catch (error) {
      if (!isReason(error, "AlreadyExists")) throw error;
      return claimedNode(api, machine);
    }
  }
  if (isOfAnother(present, machine)) throw new NameTaken(name);
  if (claim === undefined || present.metadata.annotations?.[machineAnnotation] === claim) return present;
  const { metadata } = present;
  try {
    // With its resourceVersion: of two machines that want the name of a dead one, one gets it.
    const own = { ...metadata.annotations, ...annotations.annotations };
    return await api.update(Node, { ...present, metadata: { ...metadata, annotations: own } });
  } catch (error) {
    if (!isConflict(error)) throw error;
    return claimedNode(api, machine);
  }
}
