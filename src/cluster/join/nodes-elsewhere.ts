// What the control plane of a machine that has joined has instead of nodes in its process.
import { kubeletConnection } from "#apiserver/host/kubelet-connection.ts";
import { aborted } from "#base/aborted.ts";
import { systemClock as clock } from "#base/clock.ts";
import { dnsProcessAddress, leadingAddons } from "../addons/leading-addons.ts";
import { Certificates } from "../certificates.ts";
import type { ClusterNodes } from "../cluster.ts";
import { dnsObjects } from "../dns-objects.ts";
import { kubeletClient } from "../identities.ts";
import { addressTypes, type NodesOptions, type NodesSetup } from "../local/nodes.ts";

/** There is a node on this machine, but not of the control plane's making: it comes over the network like all others. */
const noNodes: ClusterNodes = {
  name: "nodes",
  names: [],
  handle: (name) => Promise.reject(new Error(`there is no node ${name} in this process`)),
  isOn: () => false,
  stop: () => undefined,
  start: () => undefined,
  setHealth: () => undefined,
  run: (signal) => aborted(signal),
};

export async function nodesElsewhere({ place, settings, network, clientCa }: NodesOptions): Promise<NodesSetup> {
  const certificates = new Certificates(place.certificates, clock);
  const client = certificates.issue("apiserver-kubelet-client", kubeletClient);
  return {
    make: () => noNodes,
    objects: dnsObjects(network.addresses[0], dnsProcessAddress(settings)),
    connection: kubeletConnection({ ...client, ca: clientCa }, addressTypes),
    inside: undefined,
    beside: (cluster, { log, candidate }) => [leadingAddons(cluster, { place, settings, candidate, log })],
  };
}
