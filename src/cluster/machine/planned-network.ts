import { doesForwardIpv6 } from "#network/host/host-state.ts";
import { type LocalNetwork, planNetwork } from "#network/local-network.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { podRangeOf } from "../local/range-settings.ts";
import { isOpen, nodeNames, type Settings } from "../local/settings.ts";

/** The network that the nodes of a cluster have, or will have. */
export function plannedNetwork(place: ClusterFolder, settings: Settings): LocalNetwork {
  const podRange = settings["cluster-cidr"];
  return planNetwork({
    cluster: place.name,
    nodeRange: settings["node-range"],
    podRange,
    serviceRange: settings["service-cluster-ip-range"],
    loadBalancerRange: settings["load-balancer-range"],
    nodes: nodeNames(settings).map((name, i) => ({ name, podRange: podRangeOf(podRange, i) })),
    egress: !settings["no-egress"],
    egressOfIpv6: doesForwardIpv6(),
    isOpen: isOpen(settings),
  });
}
