// Nodes of real containers on this machine.
import { kubeletConnection } from "#apiserver/host/kubelet-connection.ts";
import { systemClock } from "#base/clock.ts";
import { Certificates } from "../certificates.ts";
import { dnsAddressIn, dnsObjects } from "../dns-objects.ts";
import { kubeletCertificate } from "../machine/kubelet-listener.ts";
import { localNodes } from "../machine/local-nodes.ts";
import { realNodes } from "../machine/real-nodes.ts";
import { addressTypes, type NodesOptions, type NodesSetup } from "./nodes.ts";

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
          podRanges: [settings["cluster-cidr"]],
          doesEnforcePolicies: !settings["no-network-policy"],
          podPidsLimit: settings["pod-max-pids"],
          proxyMode: settings["proxy-mode"],
          clientCa,
          imageCache: place.imageCache,
          keptImages: place.images,
          certificate: ({ name, address }) => kubeletCertificate(certificates, name, [address]),
        },
        parts,
      ),
    objects: dnsObjects(services, hostAddress),
    connection: kubeletConnection({ addressTypes }),
    inside: { address: hostAddress, isThere: connected },
  };
}
