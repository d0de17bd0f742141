// Nodes of real containers on this machine.
import { kubeletConnection } from "#apiserver/host/kubelet-connection.ts";
import { systemClock } from "#base/clock.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { partsOf } from "#network/ranges.ts";
import type { ClusterAddonsOptions } from "../addons/cluster-addons.ts";
import { Certificates } from "../certificates.ts";
import type { Cluster } from "../cluster.ts";
import { dnsAddressIn, dnsObjects } from "../dns-objects.ts";
import { kubeletClient } from "../identities.ts";
import { kubeletCertificate } from "../machine/kubelet-listener.ts";
import { localNodes } from "../machine/local-nodes.ts";
import { realNodes } from "../machine/real-nodes.ts";
import { doesJoin, homeOf, joinServiceOf } from "./machines.ts";
import { addressTypes, type NodesOptions, type NodesSetup } from "./nodes.ts";

/** Kubelets of other machines have to show a certificate of ours, and are shown one. */
const kubeletTrust = (certificates: Certificates, ca: string) => ({
  ...certificates.issue("apiserver-kubelet-client", kubeletClient),
  ca,
});

export function containerNodes({ place, settings, network, clientCa }: NodesOptions, signal: AbortSignal): NodesSetup {
  const local = localNodes(place, settings);
  const certificates = new Certificates(place.certificates, systemClock);
  const { hostAddress } = local.network;
  const [services] = network.addresses;
  const connected = local.connect(signal);
  connected.catch(() => undefined); // whoever awaits it gets the error
  return {
    make: (parts) =>
      realNodes(
        {
          local,
          connected,
          dnsAddress: dnsAddressIn(services),
          podRanges: partsOf(settings["cluster-cidr"]),
          doesEnforcePolicies: !settings["no-network-policy"],
          podPidsLimit: settings["pod-max-pids"],
          proxyMode: settings["proxy-mode"],
          ...(doesJoin(settings) && { machines: { home: homeOf(settings), mode: settings["machine-network"] } }),
          clientCa,
          imageCache: place.imageCache,
          keptImages: place.images,
          certificate: ({ name, addresses }) => kubeletCertificate(certificates, name, addresses),
        },
        parts,
      ),
    objects: dnsObjects(services, hostAddress),
    connection: kubeletConnection(doesJoin(settings) ? kubeletTrust(certificates, clientCa) : {}, addressTypes),
    inside: { address: hostAddress, isThere: connected },
    beside: (cluster, { log, ca }) => [
      ...(doesJoin(settings) ? [joinServiceOf(cluster, { place, settings, ca, network, log })] : []),
      addonsOf(cluster, {
        log,
        imageCache: place.imageCache,
        hostAddress,
        nodes: settings.nodes,
        nodesFolder: place.nodes,
        hasEgress: !settings["no-egress"],
        initial: settings.addons.filter((name) => name !== "none"),
      }),
    ],
  };
}

/** Nodes that do not become ready are no reason to leave the names of a cluster that is started again to pods that are gone. */
const latestMs = 10_000;

/** Loaded late: whoever waits for the cluster to be ready does not wait for what add-ons need. */
const addonsOf = (cluster: Cluster, options: Omit<ClusterAddonsOptions, "cluster">): Component => ({
  name: "add-ons",
  async run(signal) {
    await cluster.serving(signal);
    await Promise.race([cluster.ready(signal), systemClock.sleep(latestMs, signal)]);
    const { clusterAddons } = await import("../addons/cluster-addons.ts");
    await supervise(clusterAddons({ ...options, cluster }), signal);
  },
});
