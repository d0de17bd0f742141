import { partOf } from "#kubelet/simulated/addresses.ts";
import { type LocalNetwork, planNetwork } from "#network/local-network.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { isOpen, nodeNames, nodePrefix, type Settings } from "../local/settings.ts";

/** The network that the nodes of a cluster have, or will have. */
export function plannedNetwork(place: ClusterFolder, settings: Settings): LocalNetwork {
  const podRange = settings["cluster-cidr"];
  return planNetwork({
    cluster: place.name,
    nodeRange: settings["node-range"],
    podRange,
    serviceRange: settings["service-cluster-ip-range"],
    loadBalancerRange: settings["load-balancer-range"],
    nodes: nodeNames(settings).map((name, i) => ({ name, podRange: partOf(podRange, nodePrefix, i) })),
    egress: !settings["no-egress"],
    isOpen: isOpen(settings),
  });
}
