// What a proxy that runs alone must know of the machine and of its node, and how it leaves no trace of either.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { Node } from "#api/core/v1/node.ts";
import { UsageError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Client } from "#client/client.ts";
import type { FrontendFamily } from "#proxy/frontends.ts";
import { cleanUpAllModes } from "#proxy/modes/list.ts";
import { thisMachine } from "../machine/node-location.ts";
import type { ProxySettings } from "./proxy-settings.ts";

/** Removes what any mode has left on this machine. */
export const cleanUpProxy = (): Promise<void> =>
  cleanUpAllModes({ run: thisMachine.run, families: ["IPv4", "IPv6"], podRanges: [] }, new AbortController().signal);

export const coresHere = (): number => availableParallelism();

export function familiesHere(): readonly FrontendFamily[] {
  try {
    return readFileSync("/proc/net/if_inet6", "utf8") === "" ? ["IPv4"] : ["IPv4", "IPv6"];
  } catch {
    return ["IPv4"]; // a kernel without IPv6 has no such file
  }
}

/** What the API knows of the node. */
export async function factsOf(client: Client, { node: name, podRangesOfNode, ...settings }: ProxySettings, log: Log) {
  const node = await client.find(Node, { name });
  if (!node) log.warn("the node is not in the API; its addresses are not known", { node: name });
  const internal = (node?.status.addresses ?? []).filter(({ type }) => type === "InternalIP");
  const nodeAddresses =
    settings.nodeAddresses.length > 0 ? settings.nodeAddresses : internal.map(({ address }) => address);
  const podRanges = podRangesOfNode ? (node?.spec.podCIDRs ?? []) : settings.podRanges;
  if (podRangesOfNode && podRanges.length === 0)
    throw new UsageError(`--detect-local-mode NodeCIDR: node ${JSON.stringify(name)} has no networks for pods`);
  return { nodeAddresses, podRanges };
}
