// The nodes that the settings of a cluster ask for.
import type { Wanted } from "#apiserver/bootstrap/objects.ts";
import { kubeletConnection } from "#apiserver/host/kubelet-connection.ts";
import { type NodeConnection, noConnection } from "#apiserver/node-connection.ts";
import type { ServiceNetwork } from "#apiserver/strategies/service/ranges.ts";
import { systemClock } from "#base/clock.ts";
import { simulatedNodes } from "#kubelet/simulated/nodes.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import { Certificates } from "../certificates.ts";
import type { ClusterConfig } from "../cluster.ts";
import { dnsAddressIn, dnsObjects } from "../cluster-dns.ts";
import { KeptImages } from "../images/kept-images.ts";
import { kubeletCertificate } from "../machine/kubelet-listener.ts";
import { localNodes } from "../machine/local-nodes.ts";
import { realNodes } from "../machine/real-nodes.ts";
import type { FrontOptions } from "./front.ts";
import type { Place } from "./place.ts";
import { nodeNames, type Settings } from "./settings.ts";

export interface NodesSetup {
  readonly make: ClusterConfig["nodes"];
  /** What the API has to have for them. */
  readonly objects: readonly Wanted[];
  readonly connection: NodeConnection;
  readonly inside: FrontOptions["inside"];
}

export interface NodesOptions {
  readonly place: Place;
  readonly settings: Settings;
  readonly network: ServiceNetwork;
  readonly clientCa: string;
}

/** Names of nodes mean nothing to the machine they are on. */
const addressTypes = ["InternalIP", "Hostname"];

/** Begins at once with what needs no API. */
export function nodesOf({ place, settings, network, clientCa }: NodesOptions, signal: AbortSignal): NodesSetup {
  const podRange = settings["cluster-cidr"];
  if (settings.runtime === "simulated")
    return {
      make: (parts) => simulatedNodes({ ...parts, names: nodeNames(settings), podRange, spdyCompression }),
      objects: [],
      // The addresses of simulated nodes may be those of real machines: nothing is ever sent there.
      connection: { ...noConnection, spdyCompression, addressTypes },
      inside: undefined,
    };
  const local = localNodes(place, settings);
  const certificates = new Certificates(place.certificates, systemClock);
  const { hostAddress } = local.network;
  const [services] = network.addresses;
  const connected = local.connect(signal);
  connected.catch(() => undefined); // whoever waits for it is told
  return {
    make: (parts) =>
      realNodes(
        {
          local,
          connected,
          dnsAddress: dnsAddressIn(services),
          podRanges: [podRange],
          clientCa,
          imageCache: place.imageCache,
          keptImages: new KeptImages(place.images),
          certificate: ({ name, address }) => kubeletCertificate(certificates, name, [address]),
        },
        parts,
      ),
    objects: dnsObjects(services, hostAddress),
    connection: kubeletConnection({ addressTypes }),
    inside: { address: hostAddress, isThere: connected },
  };
}
