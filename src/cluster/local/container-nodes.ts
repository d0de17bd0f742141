// Nodes of real containers on this machine.
import { kubeletConnection } from "#apiserver/host/kubelet-connection.ts";
import { systemClock } from "#base/clock.ts";
import { partsOf } from "#network/ranges.ts";
import { leadingAddons } from "../addons/leading-addons.ts";
import { Certificates } from "../certificates.ts";
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
    beside: (cluster, { log, ca, candidate }) => [
      ...(doesJoin(settings) ? [joinServiceOf(cluster, { place, settings, ca, network, log })] : []),
      leadingAddons(cluster, { place, settings, candidate, log }),
    ],
  };
}
