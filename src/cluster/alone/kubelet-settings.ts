// The settings of a kubelet that runs alone: flags, a KubeletConfiguration, and what is usual, in this order.
// Upstream: pkg/kubelet/apis/config/v1beta1/defaults.go.
import { hostname } from "node:os";
import { join } from "node:path";
import type { Taint } from "#api/core/v1/node.ts";
import { UsageError } from "#base/errors.ts";
import { durationFlag } from "#cli/duration-flag.ts";
import { type EvictionThresholds, evictionThresholds } from "#kubelet/node/pressure.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import { parseIp } from "#schema/ip.ts";
import { parseQuantity, quantityValue } from "#schema/quantity.ts";
import { leavesOf, readConfigurationFile } from "./configuration-file.ts";
import { type KubeletFlagValues, kubeletFlags } from "./kubelet-flags.ts";

type Name = keyof KubeletFlagValues;

/** The flag that each field of a configuration stands for. */
const fields: Readonly<Record<string, Name>> = {
  staticPodPath: "pod-manifest-path",
  staticPodURL: "manifest-url",
  address: "address",
  port: "port",
  healthzBindAddress: "healthz-bind-address",
  healthzPort: "healthz-port",
  tlsCertFile: "tls-cert-file",
  tlsPrivateKeyFile: "tls-private-key-file",
  rotateCertificates: "rotate-certificates",
  serverTLSBootstrap: "rotate-server-certificates",
  "authentication.x509.clientCAFile": "client-ca-file",
  "authentication.anonymous.enabled": "anonymous-auth",
  "authorization.mode": "authorization-mode",
  clusterDNS: "cluster-dns",
  clusterDomain: "cluster-domain",
  resolvConf: "resolv-conf",
  registerNode: "register-node",
  maxPods: "max-pods",
  podPidsLimit: "pod-max-pids",
  cgroupRoot: "cgroup-root",
  cgroupDriver: "cgroup-driver",
  imageGCHighThresholdPercent: "image-gc-high-threshold",
  imageGCLowThresholdPercent: "image-gc-low-threshold",
  containerRuntimeEndpoint: "container-runtime-endpoint",
};
/** Fields that are read in another way than as the value of a flag. */
const ownFields =
  /^(apiVersion|kind|registerWithTaints|staticPodURLHeader\..*|evictionHard\..*|fileCheckFrequency|httpCheckFrequency)$/;
/** Fields that upstream knows and that change nothing here; a warning says so where that may matter. */
const ignoredFields = new RegExp(
  `^(${[
    "allowedUnsafeSysctls|authentication\\.webhook\\..*|authorization\\.webhook\\..*|cgroupsPerQOS|configMapAndSecretChangeDetectionStrategy",
    "containerLogMaxFiles|containerLogMaxSize|containerLogMaxWorkers|containerLogMonitorInterval|contentType|cpuCFSQuota|cpuCFSQuotaPeriod",
    "cpuManagerPolicy|cpuManagerPolicyOptions\\..*|cpuManagerReconcilePeriod|crashLoopBackOff\\..*|enableContentionProfiling",
    "enableControllerAttachDetach|enableDebugFlagsHandler|enableDebuggingHandlers|enableProfilingHandler|enableServer|enableSystemLogHandler",
    "enableSystemLogQuery|enforceNodeAllocatable|eventBurst|eventRecordQPS|evictionMaxPodGracePeriod|evictionMinimumReclaim\\..*",
    "evictionPressureTransitionPeriod|evictionSoft\\..*|evictionSoftGracePeriod\\..*|failCgroupV1|failSwapOn|featureGates\\..*",
    "hairpinMode|imageMaximumGCAge|imageMinimumGCAge|imageServiceEndpoint|iptablesDropBit|iptablesMasqueradeBit|kernelMemcgNotification",
    "kubeAPIBurst|kubeAPIQPS|kubeReserved\\..*|kubeReservedCgroup|kubeletCgroups|localStorageCapacityIsolation|logging\\..*|makeIPTablesUtilChains",
    "maxOpenFiles|maxParallelImagePulls|memoryManagerPolicy|memorySwap\\..*|memoryThrottlingFactor|mergeDefaultEvictionSettings",
    "nodeLeaseDurationSeconds|nodeStatusMaxImages|nodeStatusReportFrequency|nodeStatusUpdateFrequency|oomScoreAdj|podCIDR|podLogsDir",
    "podsPerCore|preloadedImagesVerificationAllowlist|protectKernelDefaults|providerID|qosReserved\\..*|readOnlyPort|registryBurst",
    "registryPullQPS|reservedMemory|reservedSystemCPUs|runOnce|runtimeRequestTimeout|seccompDefault|serializeImagePulls|shutdownGracePeriod",
    "shutdownGracePeriodByPodPriority|shutdownGracePeriodCriticalPods|singleProcessOOMKill|streamingConnectionIdleTimeout|swapMode|syncFrequency",
    "systemCgroups|systemReserved\\..*|systemReservedCgroup|tlsCipherSuites|tlsMinVersion|topologyManagerPolicy|topologyManagerPolicyOptions\\..*",
    "topologyManagerScope|userNamespaces\\..*|volumePluginDir|volumeStatsAggPeriod|imagePullCredentialsVerificationPolicy|showHiddenMetricsForVersion",
  ].join("|")})$`,
);
const version = "kubelet.config.k8s.io/v1beta1";

export interface KubeletSettings {
  readonly node: string;
  readonly kubeconfig: string | undefined;
  readonly bootstrapKubeconfig: string | undefined;
  readonly certificateFolder: string;
  readonly folder: string;
  readonly nodeIp: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly registers: boolean;
  readonly staticPodsFolder: string | undefined;
  readonly staticPodsUrl:
    | { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly everyMs: number }
    | undefined;
  readonly endpoint: string;
  readonly address: string;
  readonly port: number;
  readonly healthz: { readonly host: string; readonly port: number };
  readonly clientCaFile: string | undefined;
  readonly servesAnonymous: boolean;
  readonly allowsAll: boolean;
  readonly tlsFiles: { readonly cert: string; readonly key: string } | undefined;
  readonly rotatesClient: boolean;
  readonly rotatesServer: boolean;
  readonly maxPods: number;
  readonly podPidsLimit: number;
  readonly dns: { readonly servers: readonly string[]; readonly domain: string; readonly file: string };
  readonly cgroupRoot: string;
  readonly thresholds: EvictionThresholds;
  readonly imageThresholds: { readonly highPercent: number; readonly lowPercent: number };
  readonly isVerbose: boolean;
  /** Fields of the file without effect. */
  readonly ignored: readonly string[];
}

interface ConfigurationContent {
  readonly values: Readonly<Partial<Record<Name, unknown>>>;
  readonly own: Readonly<Record<string, unknown>>;
  readonly ignored: readonly string[];
}

/** Throws UsageError that names the flag or the field. */
export function kubeletSettings(flags: KubeletFlagValues): KubeletSettings {
  const file = flags.config === undefined ? { values: {}, own: {}, ignored: [] } : configured(flags.config);
  const settingOf = (name: Name): unknown => {
    const given = flags[name];
    return given === undefined || (Array.isArray(given) && given.length === 0) ? file.values[name] : given;
  };
  const text = (name: Name) => optional(settingOf(name)) as string | undefined;
  const yes = (name: Name, usual: boolean) => (settingOf(name) as boolean | undefined) ?? usual;
  const number = (name: Name, usual: number) => (settingOf(name) as number | undefined) ?? usual;
  checkDriver(text("cgroup-driver") ?? "cgroupfs");
  const url = text("manifest-url");
  return {
    ...ownSettings(flags, file),
    registers: yes("register-node", true),
    staticPodsFolder: text("pod-manifest-path"),
    staticPodsUrl:
      url === undefined
        ? undefined
        : { url, headers: headersOf(flags, file), everyMs: frequency(file, "httpCheckFrequency") },
    endpoint: text("container-runtime-endpoint") ?? "unix:///run/containerd/containerd.sock",
    address: addressFlag("address", text("address")) ?? "0.0.0.0",
    port: number("port", 10_250),
    healthz: {
      host: addressFlag("healthz-bind-address", text("healthz-bind-address")) ?? "127.0.0.1",
      port: number("healthz-port", 10_248),
    },
    clientCaFile: text("client-ca-file"),
    servesAnonymous: yes("anonymous-auth", false),
    allowsAll: allowsAll(text("authorization-mode") ?? "Webhook"),
    tlsFiles: tlsFiles(text("tls-cert-file"), text("tls-private-key-file")),
    rotatesClient: yes("rotate-certificates", true),
    rotatesServer: yes("rotate-server-certificates", false),
    maxPods: number("max-pods", 110),
    podPidsLimit: number("pod-max-pids", -1),
    dns: {
      servers: (settingOf("cluster-dns") as readonly string[] | undefined) ?? [],
      domain: text("cluster-domain") ?? "cluster.local",
      file: text("resolv-conf") ?? "/etc/resolv.conf",
    },
    cgroupRoot: join("/", text("cgroup-root") ?? "/"),
    imageThresholds: {
      highPercent: number("image-gc-high-threshold", 85),
      lowPercent: number("image-gc-low-threshold", 80),
    },
  };
}

/** What is not read in the same way from the flags and from the file. */
const ownSettings = (flags: KubeletFlagValues, file: ConfigurationContent) => ({
  node: nodeName(flags["hostname-override"]),
  kubeconfig: flags.kubeconfig,
  bootstrapKubeconfig: optional(flags["bootstrap-kubeconfig"]),
  certificateFolder: flags["cert-dir"],
  folder: flags["root-dir"],
  nodeIp: addressFlag("node-ip", optional(flags["node-ip"])),
  labels: labelsOf(flags["node-labels"]),
  taints: [
    ...(flags["register-with-taints"].length > 0
      ? flags["register-with-taints"].map(taintOf)
      : taintsIn(file.own.registerWithTaints)),
    ...(flags["register-schedulable"] === false ? [unschedulable] : []),
  ],
  thresholds: thresholdsOf(flags["eviction-hard"], file),
  isVerbose: flags.v >= 2,
  ignored: file.ignored,
});

function checkDriver(driver: string): void {
  if (driver !== "cgroupfs")
    throw new UsageError(
      `--cgroup-driver: ${JSON.stringify(driver)} is not supported; have the runtime use cgroupfs, too`,
    );
}

const optional = (value: unknown) => (value === "" ? undefined : (value as string | undefined));

function configured(file: string): ConfigurationContent {
  const where = `--config ${file}`;
  const document = readConfigurationFile(file, "KubeletConfiguration", version);
  const values: Partial<Record<Name, unknown>> = {};
  const ignored: string[] = [];
  for (const [field, value] of leavesOf(document)) {
    const flag = fields[field];
    if (flag) {
      if (value !== null && value !== "") values[flag] = checkedValue(flag, value, `${where}: ${field}`);
    } else if (ignoredFields.test(field)) ignored.push(field);
    else if (!ownFields.test(field)) throw new UsageError(`${where}: unknown field ${JSON.stringify(field)}`);
  }
  return { values, own: document, ignored };
}

function checkedValue(flag: Name, value: unknown, where: string): unknown {
  const { type } = kubeletFlags[flag];
  const isRight =
    type === "strings"
      ? Array.isArray(value) && value.every((one) => typeof one === "string")
      : typeof value === { string: "string", int: "number", bool: "boolean" }[type];
  if (!isRight) throw new UsageError(`${where}: expected ${type}, got ${JSON.stringify(value)}`);
  return value;
}

function nodeName(override: string | undefined): string {
  const name = (override ?? hostname()).trim().toLowerCase();
  const [problem] = [...dns1123Subdomain(name)];
  if (problem !== undefined) throw new UsageError(`--hostname-override: ${JSON.stringify(name)}: ${problem}`);
  return name;
}

function addressFlag(flag: Name, address: string | undefined): string | undefined {
  if (address !== undefined && !parseIp(address))
    throw new UsageError(`--${flag}: ${JSON.stringify(address)} is not an address`);
  return address;
}

/** The namespaces of labels that belong to Kubernetes are closed to kubelets, but for a few. */
const ownLabels = /(^|\.)(kubernetes|k8s)\.io\//;
const permittedLabels =
  /^(([^/]*\.)?(kubelet|node)\.kubernetes\.io\/|(topology|failure-domain\.beta)\.kubernetes\.io\/(zone|region)$|(beta\.)?kubernetes\.io\/(hostname|os|arch|instance-type)$|node\.kubernetes\.io\/instance-type$)/;

export function labelsOf(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, key = "", value = ""] = /^([^=]+)=(.*)$/.exec(text) ?? [];
      if (key === "") throw new UsageError(`--node-labels: ${JSON.stringify(text)} is not KEY=VALUE`);
      if (ownLabels.test(key) && !permittedLabels.test(key))
        throw new UsageError(`--node-labels: nodes may not give themselves the label ${JSON.stringify(key)}`);
      return [key, value];
    }),
  );
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;
const unschedulable: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

export function taintOf(text: string): Taint {
  const [, key = "", value = "", word = ""] = /^([^=:]+)(?:=([^:]*))?:(\w+)$/.exec(text) ?? [];
  const effect = effects.find((known) => known === word);
  if (key === "" || !effect)
    throw new UsageError(
      `--register-with-taints: ${JSON.stringify(text)} is not KEY=VALUE:EFFECT with one of ${effects.join(", ")}`,
    );
  return { key, ...(value !== "" && { value }), effect };
}

function taintsIn(value: unknown): readonly Taint[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new UsageError("registerWithTaints: expected a list");
  return value.map((taint: Readonly<Record<string, unknown>>) =>
    taintOf(`${String(taint.key)}=${String(taint.value ?? "")}:${String(taint.effect)}`),
  );
}

function headersOf(flags: KubeletFlagValues, { own }: ConfigurationContent): Readonly<Record<string, string>> {
  const given = flags["manifest-url-header"].map((text) => {
    const [, key = "", value = ""] = /^([^:]+):\s*(.*)$/.exec(text) ?? [];
    if (key === "") throw new UsageError(`--manifest-url-header: ${JSON.stringify(text)} is not KEY:VALUE`);
    return [key, value] as const;
  });
  const inFile = Object.entries((own.staticPodURLHeader ?? {}) as Record<string, unknown>);
  return Object.fromEntries(given.length > 0 ? given : inFile.map(([key, value]) => [key, [value].flat().join(", ")]));
}

function frequency({ own }: ConfigurationContent, field: "httpCheckFrequency"): number {
  const text = own[field];
  if (text === undefined || text === "0s") return 20_000;
  if (typeof text !== "string")
    throw new UsageError(`${field}: expected a time such as 20s, got ${JSON.stringify(text)}`);
  return durationFlag(field, text);
}

function allowsAll(mode: string): boolean {
  if (mode !== "Webhook" && mode !== "AlwaysAllow")
    throw new UsageError(`--authorization-mode: Webhook or AlwaysAllow, not ${JSON.stringify(mode)}`);
  return mode === "AlwaysAllow";
}

function tlsFiles(cert: string | undefined, key: string | undefined): KubeletSettings["tlsFiles"] {
  if (cert !== undefined && key !== undefined) return { cert, key };
  if (cert !== undefined || key !== undefined)
    throw new UsageError("--tls-cert-file and --tls-private-key-file go together");
  return undefined;
}

const signals: Readonly<Record<string, keyof EvictionThresholds>> = {
  "memory.available": "memoryAvailableBytes",
  "nodefs.available": "nodeFsAvailable",
  "nodefs.inodesFree": "nodeFsInodesFree",
  "imagefs.available": "imageFsAvailable",
  "imagefs.inodesFree": "imageFsInodesFree",
  "pid.available": "pidsAvailable",
};

function thresholdsOf(flags: readonly string[], { own }: ConfigurationContent): EvictionThresholds {
  const pairs =
    flags.length > 0
      ? flags.map((text) => text.split("<", 2) as [string, string?])
      : Object.entries((own.evictionHard ?? {}) as Record<string, string>);
  const chosen = pairs.map(([signal, amount = ""]) => {
    const field = signals[signal];
    if (field === undefined) throw new UsageError(`--eviction-hard: ${JSON.stringify(signal)} is not a signal`);
    return [field, amountOf(signal, String(amount), field === "memoryAvailableBytes")] as const;
  });
  return { ...evictionThresholds, ...Object.fromEntries(chosen) };
}

/** Memory in bytes, all else in parts of the whole. */
function amountOf(signal: string, amount: string, isMemory: boolean): number {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(amount)?.[1];
  if (isMemory && percent === undefined)
    try {
      return Number(quantityValue(parseQuantity(amount)));
    } catch (cause) {
      throw new UsageError(`--eviction-hard: ${signal}: ${JSON.stringify(amount)} is not an amount`, { cause });
    }
  if (isMemory || percent === undefined)
    throw new UsageError(
      `--eviction-hard: ${signal}: ${isMemory ? "an amount such as 100Mi" : "a part such as 10%"}, not ${JSON.stringify(amount)}`,
    );
  return Number(percent) / 100;
}
