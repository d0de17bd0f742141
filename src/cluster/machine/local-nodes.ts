// The nodes of a cluster on this machine: which there are follows from its settings alone, so that any command finds them again.
import { rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { makeNetwork, removeNetwork } from "#network/host/local-network.ts";
import type { LocalNetwork, LocalNode } from "#network/local-network.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import type { Settings } from "../local/settings.ts";
import { NodeContainerd } from "./containerd.ts";
import { markHome } from "./home.ts";
import { networkNamespace } from "./network-namespace.ts";
import { plannedNetwork } from "./planned-network.ts";
import type { MachineNode } from "./run-node.ts";

export class LocalNodes {
  readonly network: LocalNetwork;
  readonly nodes: readonly MachineNode[];
  /** What does not outlive a boot. */
  readonly runFolder: string;
  readonly #place: ClusterFolder;

  constructor(network: LocalNetwork, nodes: readonly MachineNode[], place: ClusterFolder) {
    this.network = network;
    this.nodes = nodes;
    this.runFolder = place.runFolder;
    this.#place = place;
  }

  /** Makes what is missing of their network, and starts their containerds in the background: `runNode` waits for its own. */
  async connect(signal: AbortSignal): Promise<void> {
    markHome(this.#place);
    await makeNetwork(this.network, { signal });
    for (const { containerd } of this.nodes) containerd.start(signal).catch(() => undefined);
  }

  /** Ends all that runs on them, and takes the network away; what is on disk stays. */
  async switchOff(): Promise<void> {
    await Promise.all(this.nodes.map(({ containerd }) => containerd.stop()));
    await this.#disconnect();
  }

  async remove(): Promise<void> {
    await Promise.all(this.nodes.map(({ containerd }) => containerd.remove()));
    await this.#disconnect();
  }

  async #disconnect(): Promise<void> {
    await removeNetwork(this.network);
    rmSync(this.runFolder, { recursive: true, force: true });
    removeIfEmpty(dirname(this.runFolder));
  }
}

/** Where the CNI plugins are on Debian. */
const usualPlugins = "/usr/lib/cni";

export function localNodes(place: ClusterFolder, settings: Settings): LocalNodes {
  const network = plannedNetwork(place, settings);
  const { runFolder } = place;
  const { pluginFolder = usualPlugins } = settings;
  const nodeOf = (node: LocalNode): MachineNode => {
    const own = {
      name: node.name,
      address: node.address,
      addresses: node.addresses,
      podRanges: node.podRanges,
      location: networkNamespace(node.netns),
      folder: join(place.nodes, node.name),
      runFolder: join(runFolder, node.name),
      cgroup: `/knarr/${place.name}/${node.name}`,
    };
    const hasForeignNetwork = settings["no-network"];
    const containerd = new NodeContainerd({ ...own, pluginFolder, hasForeignNetwork, clock: systemClock });
    return { ...own, containerd };
  };
  return new LocalNodes(network, network.nodes.map(nodeOf), place);
}

/** Other clusters may be in it. */
export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "ENOENT") throw error;
  }
}
