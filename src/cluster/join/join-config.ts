// What a machine has to know of the cluster that it joins. The cluster says so in a ConfigMap, which nodes and those with a token may read.
import { type MachineNetworkMode, machineNetworkModes } from "#network/machine-network.ts";
import { parseJson } from "#schema/json.ts";

export interface JoinConfig {
  /** The name of the cluster. */
  readonly cluster: string;
  readonly podRange: string;
  readonly serviceRange: string;
  /** The machine that the cluster was made on, and the network of its nodes. */
  readonly home: { readonly address: string; readonly nodeRange: string };
  readonly dnsAddress: string;
  readonly domain: string;
  readonly proxyMode: string;
  readonly machineNetwork: MachineNetworkMode;
  readonly enforcesPolicies: boolean;
  readonly podPidsLimit: number;
}

export const joinConfigName = { namespace: "kube-system", name: "knarr-machines" };
export const joinConfigKey = "config.json";

/** Throws if it is not one that this version understands. */
export function readJoinConfig(text: string): JoinConfig {
  const config = parseJson(text).value as JoinConfig; // a cluster of ours wrote it; what counts most is checked below
  const texts = [config.cluster, config.podRange, config.serviceRange, config.home?.address, config.home?.nodeRange];
  if (!texts.every((one) => typeof one === "string") || !machineNetworkModes.includes(config.machineNetwork))
    throw new Error("the cluster describes itself in a way that this version does not understand");
  return config;
}
