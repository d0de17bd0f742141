// The nodes of a cluster on this machine: which there are follows from its settings alone, so that any command finds them again.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { partOf } from "#kubelet/simulated/addresses.ts";
import { makeNetwork, removeNetwork } from "#network/host/local-network.ts";
import { type LocalNetwork, type LocalNode, planNetwork } from "#network/local-network.ts";
import type { Place } from "../local/place.ts";
import { nodeNames, nodePrefix, type Settings } from "../local/settings.ts";
import { NodeContainerd } from "./containerd.ts";

export interface NodeMachine extends LocalNode {
  /** All files of the node. */
  readonly folder: string;
  /** Those that do not outlive a boot. */
  readonly runFolder: string;
  /** The control group of all its pods. */
  readonly cgroup: string;
  readonly containerd: NodeContainerd;
}

export class LocalNodes {
  readonly network: LocalNetwork;
  readonly machines: readonly NodeMachine[];
  /** What does not outlive a boot. */
  readonly runFolder: string;

  constructor(network: LocalNetwork, machines: readonly NodeMachine[], runFolder: string) {
    this.network = network;
    this.machines = machines;
    this.runFolder = runFolder;
  }

  /** Makes what is missing of their network, and begins to start their containerds. Whoever runs a node waits for its own. */
  async connect(signal: AbortSignal): Promise<void> {
    await makeNetwork(this.network, { signal });
    for (const { containerd } of this.machines) containerd.start(signal).catch(() => undefined);
  }

  /** Ends all that runs on them, and takes the network away; what is on disk stays. */
  async switchOff(): Promise<void> {
    await Promise.all(this.machines.map(({ containerd }) => containerd.stop()));
    await removeNetwork(this.network);
  }

  async remove(): Promise<void> {
    await Promise.all(this.machines.map(({ containerd }) => containerd.remove()));
    await removeNetwork(this.network);
    rmSync(this.runFolder, { recursive: true, force: true });
  }
}

/** Where the CNI plugins are on Debian. */
const usualPlugins = "/usr/lib/cni";

export function localNodes(place: Place, settings: Settings): LocalNodes {
  const podRange = settings["cluster-cidr"];
  const network = planNetwork({
    cluster: place.name,
    nodeRange: settings["node-range"],
    podRange,
    serviceRange: settings["service-cluster-ip-range"],
    loadBalancerRange: settings["load-balancer-range"],
    nodes: nodeNames(settings).map((name, i) => ({ name, podRange: partOf(podRange, nodePrefix, i) })),
    egress: !settings["no-egress"],
  });
  const runFolder = join("/run/knarr", place.name);
  const { pluginFolder = usualPlugins } = settings;
  const machineOf = (node: LocalNode): NodeMachine => {
    const own = {
      folder: join(place.nodes, node.name),
      runFolder: join(runFolder, node.name),
      cgroup: `/knarr/${place.name}/${node.name}`,
    };
    return { ...node, ...own, containerd: new NodeContainerd({ ...node, ...own, pluginFolder, clock: systemClock }) };
  };
  return new LocalNodes(network, network.nodes.map(machineOf), runFolder);
}
