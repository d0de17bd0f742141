// The settings of a proxy that runs alone, by the names of upstream's flags; a KubeProxyConfiguration says the same by other names.
// Upstream: cmd/kube-proxy/app/options.go.
import { hostname } from "node:os";
import { UsageError } from "#base/errors.ts";
import { durationFlag } from "#cli/duration-flag.ts";
import type { FlagValues } from "#cli/flags.ts";
import { ipvsSchedulers, proxyModeNames, proxyModeProblem } from "#proxy/modes/list.ts";
import type { IpvsOptions } from "#proxy/proxy-mode.ts";
import { parseCidr, parseIp } from "#schema/ip.ts";
import { ineffectivePartFlags } from "../ineffective-flags.ts";
import type { Address } from "../machine/node-location.ts";
import { leavesOf, readConfigurationFile } from "./configuration-file.ts";

const always = "rules follow each change at once, and are looked after every 30 s";
const unused = (type: "string" | "int" | "bool" | "strings", why: string) =>
  ({ type, help: `Without effect: ${why}` }) as const;

export const proxyFlags = {
  ...ineffectivePartFlags,
  config: {
    type: "string",
    value: "FILE",
    help: "A KubeProxyConfiguration of v1alpha1; other flags but --hostname-override and -v are ignored with it",
  },
  kubeconfig: { type: "string", value: "FILE", help: "Where the API server is, and who we are there" },
  "hostname-override": { type: "string", value: "NAME", help: "Name of the node (default: that of this machine)" },
  "proxy-mode": {
    type: "string",
    value: proxyModeNames.join("|"),
    default: "iptables",
    help: "How traffic for services is carried",
  },
  "cluster-cidr": { type: "strings", value: "CIDRS", help: "Networks of pods: traffic from elsewhere is masqueraded" },
  "detect-local-mode": {
    type: "string",
    value: "ClusterCIDR|NodeCIDR",
    default: "ClusterCIDR",
    help: "Whether pods are told by --cluster-cidr, or by the networks that the node has for its own",
  },
  "masquerade-all": { type: "bool", default: false, help: "Masquerade all traffic to cluster addresses" },
  "iptables-masquerade-bit": { type: "int", default: 14, help: "The bit of marks that says: masquerade (0 to 31)" },
  "iptables-localhost-nodeports": {
    type: "bool",
    default: true,
    help: "Whether node ports answer at 127.0.0.1; only in modes iptables and userspace",
  },
  "nodeport-addresses": {
    type: "strings",
    value: "CIDRS",
    help: "Addresses of the node in these networks have node ports (default: all addresses)",
  },
  "bind-address": {
    type: "string",
    value: "IP",
    default: "0.0.0.0",
    help: "Address of the node, if it is not the one that the API has",
  },
  "healthz-bind-address": {
    type: "string",
    value: "IP:PORT",
    default: "0.0.0.0:10256",
    help: "Where /healthz and /livez are served; empty for nowhere",
  },
  "metrics-bind-address": {
    type: "string",
    value: "IP:PORT",
    default: "127.0.0.1:10249",
    help: "Where /metrics and /proxyMode are served; empty for nowhere",
  },
  cleanup: { type: "bool", default: false, help: "Remove what any proxy mode has left on this machine, and end" },
  "conntrack-max-per-core": {
    type: "int",
    default: 0,
    help: "Connections that the kernel tracks, per core (0: as it is)",
  },
  "conntrack-min": { type: "int", default: 0, help: "The least number of them, if --conntrack-max-per-core is given" },
  "conntrack-tcp-timeout-established": {
    type: "string",
    value: "DURATION",
    default: "0s",
    help: "When idle TCP connections are forgotten (0s: as it is)",
  },
  "conntrack-tcp-timeout-close-wait": {
    type: "string",
    value: "DURATION",
    default: "0s",
    help: "The same in CLOSE_WAIT",
  },
  "conntrack-tcp-be-liberal": { type: "bool", default: false, help: "Track TCP packets that are out of window" },
  "conntrack-udp-timeout": {
    type: "string",
    value: "DURATION",
    default: "0s",
    help: "The same for datagrams without answer",
  },
  "conntrack-udp-timeout-stream": {
    type: "string",
    value: "DURATION",
    default: "0s",
    help: "The same for datagrams with answers",
  },
  "iptables-sync-period": unused("string", always),
  "iptables-min-sync-period": unused("string", always),
  "ipvs-scheduler": {
    type: "string",
    value: ipvsSchedulers.join("|"),
    default: "rr",
    help: "How virtual servers of mode ipvs choose among endpoints",
  },
  "ipvs-exclude-cidrs": {
    type: "strings",
    value: "CIDRS",
    help: "Virtual servers with addresses in these networks belong to others, and are left alone",
  },
  "ipvs-strict-arp": {
    type: "bool",
    default: false,
    help: "Do not tell neighbours that this machine has the addresses of services (arp_ignore 1, arp_announce 2)",
  },
  "ipvs-tcp-timeout": {
    type: "string",
    value: "DURATION",
    default: "0s",
    help: "When idle TCP connections of mode ipvs are forgotten (0s: as it is)",
  },
  "ipvs-tcpfin-timeout": { type: "string", value: "DURATION", default: "0s", help: "The same after a FIN packet" },
  "ipvs-udp-timeout": { type: "string", value: "DURATION", default: "0s", help: "The same for datagrams" },
  "ipvs-sync-period": unused("string", always),
  "ipvs-min-sync-period": unused("string", always),
  "config-sync-period": unused("string", "services and endpoints are watched"),
  "oom-score-adj": unused("int", "the score is that of whoever starts the process"),
  "bind-address-hard-fail": unused("bool", "an address that cannot be listened on ends the process in any case"),
  "show-hidden-metrics-for-version": unused("string", "there are no hidden metrics"),
  "kube-api-content-type": unused("string", "the API is spoken to in JSON"),
  "feature-gates": unused("strings", "features are as Kubernetes v1.36 has them by default"),
  v: { type: "int", default: 0, help: "Log more: 2 adds details" },
} as const;

export type ProxyFlagValues = FlagValues<typeof proxyFlags>;
type Name = keyof ProxyFlagValues;

/** The flag that each field of a configuration stands for. */
const fields: Readonly<Record<string, Name>> = {
  "clientConnection.kubeconfig": "kubeconfig",
  hostnameOverride: "hostname-override",
  mode: "proxy-mode",
  clusterCIDR: "cluster-cidr",
  detectLocalMode: "detect-local-mode",
  "iptables.masqueradeAll": "masquerade-all",
  "nftables.masqueradeAll": "masquerade-all",
  "iptables.masqueradeBit": "iptables-masquerade-bit",
  "nftables.masqueradeBit": "iptables-masquerade-bit",
  "iptables.localhostNodePorts": "iptables-localhost-nodeports",
  "ipvs.scheduler": "ipvs-scheduler",
  "ipvs.excludeCIDRs": "ipvs-exclude-cidrs",
  "ipvs.strictARP": "ipvs-strict-arp",
  "ipvs.tcpTimeout": "ipvs-tcp-timeout",
  "ipvs.tcpFinTimeout": "ipvs-tcpfin-timeout",
  "ipvs.udpTimeout": "ipvs-udp-timeout",
  nodePortAddresses: "nodeport-addresses",
  bindAddress: "bind-address",
  healthzBindAddress: "healthz-bind-address",
  metricsBindAddress: "metrics-bind-address",
  "conntrack.maxPerCore": "conntrack-max-per-core",
  "conntrack.min": "conntrack-min",
  "conntrack.tcpEstablishedTimeout": "conntrack-tcp-timeout-established",
  "conntrack.tcpCloseWaitTimeout": "conntrack-tcp-timeout-close-wait",
  "conntrack.tcpBeLiberal": "conntrack-tcp-be-liberal",
  "conntrack.udpTimeout": "conntrack-udp-timeout",
  "conntrack.udpStreamTimeout": "conntrack-udp-timeout-stream",
};
/** Fields without effect, as their flags are, or of another system. */
const ignoredFields =
  /^(apiVersion|kind|featureGates|logging|windowsRunAsService|oomScoreAdj|portRange|configSyncPeriod|enableProfiling|bindAddressHardFail|showHiddenMetricsForVersion|winkernel|detectLocal|(iptables|ipvs|nftables)\.(minS|s)yncPeriod|clientConnection\.(acceptContentTypes|contentType|qps|burst))(\.|$)/;
const version = "kubeproxy.config.k8s.io/v1alpha1";

/** The flags, or what the file of --config says instead. Throws UsageError that says which field is wrong. */
export function withConfiguration(flags: ProxyFlagValues, defaults: ProxyFlagValues): ProxyFlagValues {
  if (flags.config === undefined) return flags;
  const where = `--config ${flags.config}`;
  const values: Record<string, unknown> = {};
  for (const [field, value] of leavesOf(readConfigurationFile(flags.config, "KubeProxyConfiguration", version))) {
    const flag = fields[field];
    if (!flag) {
      if (ignoredFields.test(field)) continue;
      throw new UsageError(`${where}: unknown field ${JSON.stringify(field)}`);
    }
    if (value === null || value === "" || (Array.isArray(value) && value.length === 0)) continue;
    values[flag] = valueFor(flag, value, `${where}: ${field}`);
  }
  const { config, v } = flags;
  const name = flags["hostname-override"] ?? values["hostname-override"];
  return { ...defaults, ...values, config, v, "hostname-override": name } as ProxyFlagValues; // each value has the type of its flag
}

function valueFor(flag: Name, value: unknown, where: string): unknown {
  const { type } = proxyFlags[flag];
  if (type === "strings" && typeof value === "string") return value.split(",");
  const isRight =
    type === "strings"
      ? Array.isArray(value) && value.every((one) => typeof one === "string")
      : typeof value === { string: "string", int: "number", bool: "boolean" }[type];
  if (!isRight) throw new UsageError(`${where}: expected ${type}, got ${JSON.stringify(value)}`);
  return value;
}

export interface ProxySettings {
  readonly kubeconfig: string | undefined;
  readonly node: string;
  readonly mode: string;
  readonly podRanges: readonly string[];
  /** Whether pods are those of the networks that the Node object names. */
  readonly podRangesOfNode: boolean;
  readonly masqueradeAll: boolean;
  readonly markBit: number;
  readonly localhostNodePorts: boolean;
  readonly nodePortRanges: readonly string[];
  readonly ipvs: Required<IpvsOptions>;
  /** Addresses of the node, if they are not to be those that the API has. */
  readonly nodeAddresses: readonly string[];
  readonly healthz: Address | undefined;
  readonly metrics: Address | undefined;
  /** Values for files below /proc/sys. */
  readonly kernel: readonly (readonly [path: string, value: number])[];
  readonly isVerbose: boolean;
}

/** Throws UsageError that names the flag. `cores` are those of the machine. */
export function proxySettings(flags: ProxyFlagValues, cores: number): ProxySettings {
  const wrong = (flag: Name, why: string) => new UsageError(`--${flag}: ${why}`);
  const networks = (flag: "cluster-cidr" | "nodeport-addresses" | "ipvs-exclude-cidrs") =>
    flags[flag].map((range) => {
      if (flag === "nodeport-addresses" && range === "primary")
        throw wrong(flag, '"primary" is not supported; name the network of the address');
      if (!parseCidr(range)) throw wrong(flag, `${JSON.stringify(range)} is not a network such as 10.244.0.0/16`);
      return range;
    });
  const mode = flags["proxy-mode"];
  const modeProblem = proxyModeProblem(mode);
  if (modeProblem !== undefined) throw wrong("proxy-mode", modeProblem);
  const detection = flags["detect-local-mode"];
  if (detection !== "ClusterCIDR" && detection !== "NodeCIDR")
    throw wrong("detect-local-mode", `ClusterCIDR or NodeCIDR, not ${JSON.stringify(detection)}`);
  const bit = flags["iptables-masquerade-bit"];
  if (bit < 0 || bit > 31) throw wrong("iptables-masquerade-bit", `a number from 0 to 31, not ${bit}`);
  const scheduler = flags["ipvs-scheduler"];
  if (!ipvsSchedulers.includes(scheduler))
    throw wrong("ipvs-scheduler", `${ipvsSchedulers.join(", ")}, not ${JSON.stringify(scheduler)}`);
  const own = flags["bind-address"];
  if (!parseIp(own)) throw wrong("bind-address", `${JSON.stringify(own)} is not an address`);
  return {
    kubeconfig: flags.kubeconfig,
    node: (flags["hostname-override"] ?? hostname()).trim().toLowerCase(),
    mode,
    podRanges: detection === "ClusterCIDR" ? networks("cluster-cidr") : [],
    podRangesOfNode: detection === "NodeCIDR",
    masqueradeAll: flags["masquerade-all"],
    markBit: 2 ** bit,
    localhostNodePorts: flags["iptables-localhost-nodeports"],
    nodePortRanges: networks("nodeport-addresses"),
    ipvs: {
      scheduler,
      excludeRanges: networks("ipvs-exclude-cidrs"),
      strictArp: flags["ipvs-strict-arp"],
      tcpSeconds: secondsFlag(flags, "ipvs-tcp-timeout"),
      tcpFinSeconds: secondsFlag(flags, "ipvs-tcpfin-timeout"),
      udpSeconds: secondsFlag(flags, "ipvs-udp-timeout"),
    },
    nodeAddresses: /^(0\.0\.0\.0|::)$/.test(own) ? [] : [own],
    healthz: addressFlag(flags, "healthz-bind-address"),
    metrics: addressFlag(flags, "metrics-bind-address"),
    kernel: kernelSettings(flags, cores),
    isVerbose: flags.v >= 2,
  };
}

function addressFlag(
  flags: ProxyFlagValues,
  name: "healthz-bind-address" | "metrics-bind-address",
): Address | undefined {
  const text = flags[name];
  if (text === "") return undefined;
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d+)$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? "";
  if (!parseIp(host) || Number(port) > 65_535)
    throw new UsageError(`--${name}: ${JSON.stringify(text)} is not an address and a port such as 0.0.0.0:10256`);
  return { host, port: Number(port) };
}

function kernelSettings(flags: ProxyFlagValues, cores: number): ProxySettings["kernel"] {
  const seconds = (name: Name & `conntrack-${string}`) => secondsFlag(flags, name);
  const perCore = flags["conntrack-max-per-core"];
  const values = [
    ["nf_conntrack_max", perCore === 0 ? 0 : Math.max(perCore * cores, flags["conntrack-min"])],
    ["nf_conntrack_tcp_timeout_established", seconds("conntrack-tcp-timeout-established")],
    ["nf_conntrack_tcp_timeout_close_wait", seconds("conntrack-tcp-timeout-close-wait")],
    ["nf_conntrack_tcp_be_liberal", flags["conntrack-tcp-be-liberal"] ? 1 : 0],
    ["nf_conntrack_udp_timeout", seconds("conntrack-udp-timeout")],
    ["nf_conntrack_udp_timeout_stream", seconds("conntrack-udp-timeout-stream")],
  ] as const;
  return values.filter(([, value]) => value > 0).map(([file, value]) => [`net/netfilter/${file}`, value] as const);
}

function secondsFlag(flags: ProxyFlagValues, name: Name): number {
  const text = String(flags[name]);
  return /^0[a-z]*$/.test(text) ? 0 : Math.floor(durationFlag(name, text) / 1_000);
}
