import { chmodSync } from "node:fs";
import { makeFolder } from "#base/host/make-folder.ts";
import { withNodeRestriction } from "../cluster.ts";
import { etcdArguments } from "../etcd/etcd-arguments.ts";
import { etcdFolder } from "../etcd/etcd-certificates.ts";
import { dataOf, readMember, writeMember } from "../etcd/local-etcd.ts";
import { clientUrl, type EtcdMemberSettings } from "../etcd/member-settings.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { pluginsAsked, type Settings } from "../local/settings.ts";
import type { MachineNode } from "../machine/run-node.ts";
import type { ControlPlanePodsOptions } from "./control-plane-pods.ts";
import { type ControlPlaneManifestOptions, certificatesInPods, etcdDataInPods } from "./manifests.ts";
import { partKubeconfigs } from "./part-files.ts";

const etcdPorts = { clientPort: 2379, peerPort: 2380 };

/** What the manifests of a cluster say, by its settings and the images that were made for it. */
export function manifestOptions(
  { place, settings, node, port }: ControlPlanePodsOptions,
  images: Readonly<Record<string, string>>,
): ControlPlaneManifestOptions {
  return {
    image: images["control-plane"] ?? "",
    address: node.address,
    port,
    serviceRange: settings["service-cluster-ip-range"],
    paths: {
      certificates: place.certificates,
      kubeconfigs: partKubeconfigs(place),
      encryption: place.encryption,
    },
    store: stateOf(place, settings, node, images.etcd ?? ""),
    apiserverFlags: flagsOf(settings),
  };
}

function stateOf(
  place: ClusterFolder,
  settings: Settings,
  node: MachineNode,
  image: string,
): ControlPlaneManifestOptions["store"] {
  if (settings.ha) {
    const member = readMember(place) ?? newMember(node);
    writeMember(place, member);
    const folder = dataOf(place);
    makeFolder(folder);
    chmodSync(folder, 0o700); // etcd insists on it
    const file = (name: string) => `${certificatesInPods}/${etcdFolder}/${name}`;
    const certificates = { ca: file("ca.crt"), cert: file("member.crt"), key: file("member.key") };
    return {
      is: "etcd",
      servers: member.endpoints,
      files: { "etcd-cafile": file("ca.crt"), "etcd-certfile": file("client.crt"), "etcd-keyfile": file("client.key") },
      member: {
        image,
        folder,
        args: etcdArguments({ member, certificates, folder: etcdDataInPods }),
        clientPort: member.clientPort,
      },
    };
  }
  const servers = settings["etcd-servers"];
  if (servers.length === 0) return { is: "embedded", folder: place.store };
  const flags = ["etcd-cafile", "etcd-certfile", "etcd-keyfile"] as const;
  const files = flags.flatMap((flag) => (settings[flag] === undefined ? [] : [[flag, settings[flag]] as const]));
  return { is: "etcd", servers, files: Object.fromEntries(files) };
}

/** Ports need not be looked for: on the network of a node, nobody else has them. */
function newMember({ name, address }: MachineNode): EtcdMemberSettings {
  const member = { name, address, ...etcdPorts, initialCluster: "", isLearner: false };
  return { ...member, endpoints: [clientUrl(member)] };
}

/** What a person asked of the API server. */
function flagsOf(settings: Settings): readonly string[] {
  const { enable = [], disable = [] } = withNodeRestriction(pluginsAsked(settings));
  const named = {
    "enable-admission-plugins": enable,
    "disable-admission-plugins": disable,
    "runtime-config": settings["runtime-config"],
  };
  return Object.entries(named).flatMap(([flag, values]) =>
    values.length > 0 ? [`--${flag}=${values.join(",")}`] : [],
  );
}
