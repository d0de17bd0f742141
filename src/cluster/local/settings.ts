// What a cluster of this machine is made with, by the names of the flags that say so. Kept in its folder, so that it starts again as
// it was, and so that another `knarr up` can say what it would have to change.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pluginsOf } from "#apiserver/admission/configuration.ts";
import { servedBy } from "#apiserver/served/runtime-config.ts";
import { UsageError } from "#base/errors.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import type { FlagValues } from "#cli/flags.ts";
import { usualRanges } from "#network/conflicts.ts";
import { type MachineNetworkMode, machineNetworkModes } from "#network/machine-network.ts";
import { proxyModeNames, proxyModeProblem } from "#proxy/modes/list.ts";
import { parseIp } from "#schema/ip.ts";
import { parseJson } from "#schema/json.ts";
import { addonNamed, defaultAddons } from "../addons/list.ts";
import { pluginFlags } from "../admission-settings.ts";
import { upstreamFlags } from "../upstream-flags.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import { controlPlaneModes, controlPlaneProblem } from "./control-plane-settings.ts";
import {
  checkRanges,
  familiesAsked,
  type IpFamilyName,
  ipFamilyNames,
  nameOfFamilies,
  rangeSettings,
  usualRoom,
  widePodRange,
} from "./range-settings.ts";

export const settingFlags = {
  runtime: {
    type: "string",
    value: "containerd|simulated",
    help: "What runs the pods (default containerd for root); simulated nodes only tell that they run",
  },
  nodes: { type: "int", help: "How many nodes (default 1)" },
  store: {
    type: "string",
    value: "embedded|memory",
    help: "Where state lives when no etcd is named (default embedded)",
  },
  ha: {
    type: "bool",
    help: "Keep state in an etcd that is started for the cluster, so that other machines can join as control planes",
  },
  "control-plane": {
    type: "string",
    value: controlPlaneModes.join("|"),
    help: "How the control plane runs: in the process of the cluster (default), or as static pods of the first node",
  },
  "etcd-servers": { type: "strings", value: "URLS", help: "Endpoints of an etcd to keep state in" },
  "etcd-cafile": { type: "string", value: "FILE", help: "Authority of the etcd's certificates" },
  "etcd-certfile": { type: "string", value: "FILE", help: "Certificate to show to the etcd" },
  "etcd-keyfile": { type: "string", value: "FILE", help: "Key of that certificate" },
  port: { type: "int", help: "Port of the API server (default 6443, or a free one if that is taken)" },
  "bind-address": {
    type: "string",
    value: "IP",
    help: "Address the API server listens on (default 127.0.0.1); with another one, other machines can join",
  },
  "advertise-address": {
    type: "string",
    value: "IP",
    help: "Address at which other machines reach this one (default: that of --bind-address, else the first of this machine)",
  },
  "apiserver-cert-extra-sans": {
    type: "strings",
    value: "NAMES",
    help: "Further names and addresses by which the API server is called",
  },
  "machine-network": {
    type: "string",
    value: machineNetworkModes.join("|"),
    help: "How pods of different machines reach each other: by routes in one network (default), or by a tunnel",
  },
  "ip-family": {
    type: "string",
    value: ipFamilyNames.join("|"),
    help: "Families of the addresses of pods, services and nodes (default ipv4, or those of the ranges that are given)",
  },
  "service-cluster-ip-range": {
    type: "string",
    value: "CIDRS",
    help: "Range of service addresses, or one of each family (default 10.96.0.0/16; fd00:10:96::/112)",
  },
  "cluster-cidr": {
    type: "string",
    value: "CIDRS",
    help: "Range of pod addresses, or one of each family (default 10.244.0.0/16; 10.128.0.0/9 for more than 256 nodes; fd00:10:244::/56)",
  },
  "load-balancer-range": {
    type: "string",
    value: "RANGES",
    help: "Addresses of services of type LoadBalancer (default 172.31.255.0/24; fd00:172:31:255::/112)",
  },
  "node-range": {
    type: "string",
    value: "CIDRS",
    help: "Range of node addresses, or one of each family (default 172.31.0.0/24; fd00:172:31::/64)",
  },
  "no-egress": { type: "bool", help: "Give pods and nodes no way out of this machine" },
  "no-network": {
    type: "bool",
    help: "Leave out the pod network: nodes become ready when another network plugin brings a configuration into their cni folder",
  },
  "no-network-policy": { type: "bool", help: "Let real nodes ignore network policies" },
  addons: {
    type: "strings",
    value: "NAMES",
    help: `Add-ons that a new cluster of real containers begins with, or none (default ${defaultAddons.join(",")})`,
  },
  ...pluginFlags,
  "runtime-config": upstreamFlags["runtime-config"],
  "proxy-mode": {
    type: "string",
    value: proxyModeNames.join("|"),
    help: "How nodes of real containers carry traffic for services (default nftables)",
  },
  "pod-max-pids": {
    type: "int",
    help: "Processes that a pod may have (default -1: as many as the machine allows)",
  },
} as const;

export type UpFlags = FlagValues<typeof settingFlags>;
type Name = keyof typeof settingFlags;

export type Settings = UpFlags & {
  readonly runtime: string;
  readonly nodes: number;
  readonly store: string;
  readonly ha: boolean;
  /** One of `controlPlaneModes`. */
  readonly "control-plane": string;
  readonly "bind-address": string;
  readonly "ip-family": IpFamilyName;
  readonly "service-cluster-ip-range": string;
  readonly "cluster-cidr": string;
  readonly "load-balancer-range": string;
  readonly "node-range": string;
  readonly "machine-network": MachineNetworkMode;
  readonly "no-egress": boolean;
  readonly "no-network": boolean;
  readonly "no-network-policy": boolean;
  /** A proxy mode of the nodes. */
  readonly "proxy-mode": string;
  /** Without limit if it is negative, as upstream's kubelet has it. */
  readonly "pod-max-pids": number;
  /** Undefined until one has been chosen. */
  readonly port: number | undefined;
  /** Where the CNI plugins are. */
  readonly pluginFolder?: string;
  /** Whether a key was made for its Secrets: then it must not be lost. */
  readonly encryptsSecrets?: boolean;
  /** The kubeconfig that knows this cluster. */
  readonly kubeconfig?: string | undefined;
};

export const usual: Settings = {
  runtime: process.platform === "linux" && process.getuid?.() === 0 ? "containerd" : "simulated",
  nodes: 1,
  store: "embedded",
  ha: false,
  "control-plane": "process",
  "etcd-servers": [],
  "etcd-cafile": undefined,
  "etcd-certfile": undefined,
  "etcd-keyfile": undefined,
  port: undefined,
  "bind-address": "127.0.0.1",
  "advertise-address": undefined,
  "apiserver-cert-extra-sans": [],
  "machine-network": "routes",
  "ip-family": "ipv4",
  ...rangeSettings(usualRanges([4])),
  "no-egress": false,
  "no-network": false,
  "no-network-policy": false,
  addons: defaultAddons,
  "enable-admission-plugins": [],
  "disable-admission-plugins": [],
  "runtime-config": [],
  "proxy-mode": "nftables",
  "pod-max-pids": -1,
};
/** What may differ the next time a cluster is started, besides that it may have more nodes. */
const changeable: ReadonlySet<Name> = new Set<Name>([
  "port",
  "bind-address",
  "advertise-address",
  "apiserver-cert-extra-sans",
  "no-network-policy",
  "pod-max-pids",
  "proxy-mode",
  "enable-admission-plugins",
  "disable-admission-plugins",
  "runtime-config",
]);
const mostNodes = { simulated: 5000, containerd: 100 };
/** No Linux has more. */
const mostPids = 2 ** 22;

/** The settings of a new cluster. Throws UsageError. */
export function newSettings(asked: UpFlags): Settings {
  const families = familiesAsked(asked);
  const ranges = { "ip-family": nameOfFamilies(families), ...rangeSettings(usualRanges(families)) };
  const podRange = (asked.nodes ?? 1) > usualRoom ? { "cluster-cidr": widePodRange(families) } : {};
  return checked({ ...usual, ...ranges, ...podRange, ...given(asked) });
}

/**
 * The settings of a cluster that is there already, changed as asked. Throws UsageError that says which cannot be changed, and what
 * to do about it.
 */
export function changedSettings(before: Settings, flags: UpFlags, { name, process }: ClusterFolder): Settings {
  const differing = differences(before, flags);
  const fixed = differing.filter((flag) =>
    flag === "nodes" ? (flags.nodes ?? 0) < before.nodes : !changeable.has(flag),
  );
  const refused = process ? differing : fixed;
  if (refused.length > 0) {
    const what = refused.map((flag) => `--${flag} is ${shown(before[flag])}, not ${shown(flags[flag])}`).join("; ");
    const which = name === "knarr" ? "" : ` --name=${name}`;
    throw new UsageError(
      `cluster ${JSON.stringify(name)} is there already with other settings: ${what}. ${
        fixed.length === 0
          ? `Run "knarr stop${which}" first to change that`
          : `Run "knarr down${which}" first to make it anew`
      }, or choose another --name`,
    );
  }
  return checked({ ...before, ...given(flags) });
}

const files: ReadonlySet<string> = new Set<Name>(["etcd-cafile", "etcd-certfile", "etcd-keyfile"]);

/** What was asked for; of files their whole path, since the cluster may be started again from anywhere. */
const given = (asked: UpFlags): Partial<Settings> =>
  Object.fromEntries(
    Object.entries(asked)
      .map(([name, value]) => [name, files.has(name) && typeof value === "string" ? resolve(value) : value] as const)
      .filter(
        ([name, value]) =>
          Object.hasOwn(settingFlags, name) && (Array.isArray(value) ? value.length > 0 : value !== undefined),
      ),
  );

const differences = (before: Settings, asked: UpFlags): readonly Name[] =>
  Object.entries(given(asked)).flatMap(([name, value]) =>
    String(before[name as Name] ?? "") === String(value) ? [] : [name as Name],
  );

const shown = (value: unknown): string => (Array.isArray(value) ? value.join(",") : String(value ?? "not set"));

function checked(settings: Settings): Settings {
  const { runtime, nodes, store, port } = settings;
  const wrong = (flag: Name, why: string) => new UsageError(`--${flag}: ${why}`);
  if (runtime !== "simulated" && runtime !== "containerd")
    throw wrong("runtime", `containerd or simulated, not ${JSON.stringify(runtime)}`);
  const most = mostNodes[runtime];
  if (nodes < 1 || nodes > most) throw wrong("nodes", `a number from 1 to ${most}, not ${nodes}`);
  if (store !== "embedded" && store !== "memory")
    throw wrong("store", `embedded or memory, not ${JSON.stringify(store)}`);
  if (settings.ha && settings["etcd-servers"].length > 0)
    throw wrong("ha", "an etcd is started for the cluster, or --etcd-servers names one that is there; not both");
  if (settings.ha && store === "memory") throw wrong("ha", "state is in an etcd then, not in memory");
  const planeProblem = controlPlaneProblem(settings, isOpen(settings));
  if (planeProblem !== undefined) throw wrong("control-plane", planeProblem);
  if (port !== undefined && (port < 0 || port > 65_535)) throw wrong("port", `a number up to 65535, not ${port}`);
  for (const flag of ["bind-address", "advertise-address"] as const)
    if (settings[flag] !== undefined && !parseIp(settings[flag]))
      throw wrong(flag, `${JSON.stringify(settings[flag])} is not an address`);
  if (!machineNetworkModes.includes(settings["machine-network"]))
    throw wrong(
      "machine-network",
      `${machineNetworkModes.join(" or ")}, not ${JSON.stringify(settings["machine-network"])}`,
    );
  const pids = settings["pod-max-pids"];
  if (pids === 0 || pids > mostPids) throw wrong("pod-max-pids", `-1, or a number from 1 to ${mostPids}, not ${pids}`);
  const modeProblem = proxyModeProblem(settings["proxy-mode"]);
  if (modeProblem !== undefined) throw wrong("proxy-mode", modeProblem);
  for (const name of settings.addons) if (name !== "none") addonNamed(name);
  pluginsOf(pluginsAsked(settings));
  servedBy(settings["runtime-config"], settings["enable-admission-plugins"]);
  checkRanges(settings);
  if (isOpen(settings) && runtime === "containerd" && settings["ip-family"] !== "ipv4")
    throw wrong(
      "bind-address",
      `${settings["bind-address"]} lets other machines join, which clusters with IPv6 cannot have yet; use 127.0.0.1`,
    );
  return settings;
}

/** The admission plugins that flags name. */
export const pluginsAsked = (
  settings: Settings,
): { readonly enable: readonly string[]; readonly disable: readonly string[] } => ({
  enable: settings["enable-admission-plugins"],
  disable: settings["disable-admission-plugins"],
});

export const nodeNames = ({ runtime, nodes }: Settings): readonly string[] =>
  Array.from({ length: nodes }, (_, i) => (runtime === "simulated" ? `sim-${i}` : `node-${i + 1}`));

/** Whether other machines can reach the cluster, and so join it. */
export const isOpen = (settings: Settings): boolean => !/^(127\.|::1$)/.test(settings["bind-address"]);

/** Where the cluster's state is, in a word. */
export const storeOf = (settings: Settings): "embedded" | "memory" | "etcd" =>
  settings.ha || settings["etcd-servers"].length > 0 ? "etcd" : settings.store === "memory" ? "memory" : "embedded";

export function readSettings(place: ClusterFolder): Settings | undefined {
  if (!existsSync(place.settings)) return undefined;
  const value = parseJson(readFileSync(place.settings, "utf8")).value as Partial<Settings>; // we wrote it
  return checked({ ...usual, ...value });
}

export function writeSettings(place: ClusterFolder, settings: Settings): void {
  makeFolder(place.folder);
  writeFileSync(`${place.settings}.new`, `${JSON.stringify(settings, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(`${place.settings}.new`, place.settings);
}
