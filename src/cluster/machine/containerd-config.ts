// Configuration of a node's containerd and its CNI plugins.
import { join } from "node:path";
import { pauseReference } from "../images/pause.ts";

export interface ContainerdPaths {
  readonly folder: string;
  readonly runFolder: string;
  readonly socket: string;
  readonly pluginFolder: string;
  /** Whether the first address of a pod is of IPv6: containerd names one of IPv4 first, unless it is told to keep the order. */
  readonly prefersIpv6: boolean;
  /** Whether the kernel has AppArmor: then containerd's profile is the default for containers. */
  readonly hasAppArmor: boolean;
}

/** Folder of a node's registry configuration: a folder for each registry, with a hosts.toml. */
export const registriesIn = (folder: string): string => join(folder, "registries");
/** Then the system's own folders. */
const systemRegistries = ["/etc/containerd/certs.d", "/etc/docker/certs.d"];

/** Without the plugins that nothing of ours uses: each looks at the machine when it starts, some by running programs. */
export const containerdConfig = (paths: ContainerdPaths): string => `version = 2
root = ${toml(join(paths.folder, "containerd"))}
state = ${toml(join(paths.runFolder, "containerd"))}
oom_score = 0
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.native",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.opt",
  "io.containerd.internal.v1.restart",
  "io.containerd.internal.v1.tracing",
  "io.containerd.tracing.processor.v1.otlp",
]
[debug]
  level = "warn"
[grpc]
  address = ${toml(paths.socket)}
[ttrpc]
  address = ${toml(`${paths.socket}.ttrpc`)}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${toml(pauseReference)}
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  restrict_oom_score_adj = true
  disable_apparmor = ${!paths.hasAppArmor}
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = ${toml(paths.pluginFolder)}
    conf_dir = ${toml(join(paths.folder, "cni"))}${paths.prefersIpv6 ? '\n    ip_pref = "ipv6"' : ""}
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = ${toml([registriesIn(paths.folder), ...systemRegistries].join(":"))}
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
      Root = ${toml(join(paths.runFolder, "runc"))}
`;

const toml = (text: string): string => JSON.stringify(text);

/**
 * A cable from each pod to its node, with addresses of the node's own ranges, host ports and limits of bandwidth. Pods are not on a bridge: packets between
 * two of them would pass the node's rules for services on the way there, but on the way back only with the module br_netfilter.
 */
export const cniConfig = (podRanges: readonly string[], stateFolder: string, mtu?: number): string =>
  JSON.stringify(
    {
      cniVersion: "0.4.0",
      name: "knarr",
      plugins: [
        {
          type: "ptp",
          ...(mtu !== undefined && { mtu }),
          ipam: {
            type: "host-local",
            dataDir: stateFolder,
            ranges: podRanges.map((subnet) => [{ subnet }]),
            routes: podRanges.map((range) => ({ dst: range.includes(":") ? "::/0" : "0.0.0.0/0" })),
          },
        },
        { type: "portmap", capabilities: { portMappings: true } },
        { type: "bandwidth", capabilities: { bandwidth: true } }, // does nothing for pods without annotations
      ],
    },
    undefined,
    2,
  );
