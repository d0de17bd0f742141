import { tokenKeys } from "#apiserver/host/token-keys.ts";
import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { delayFlag, durationFlag } from "#cli/duration-flag.ts";
import { type Flags, type FlagValues, flagsHelp, parseFlags } from "#cli/flags.ts";
import { asCertificates, asPrivateKey, flagFile } from "#cli/host/flag-file.ts";
import type { ControllerSettings } from "#controllers/list.ts";
import { rangeAllocator } from "#controllers/node-ipam/settings.ts";
import { aloneFlags } from "../alone/flags.ts";
import { runAlone } from "../alone/run-alone.ts";
import { controllerManager } from "../controller-manager.ts";
import { controllerSwitch } from "../controller-switches.ts";
import { ineffectivePartFlags } from "../ineffective-flags.ts";
import { signingBy, signingFlags } from "../signing-settings.ts";

/** The number of workers of a controller, by upstream's flags. */
const workerFlags: Readonly<Record<string, string>> = {
  "concurrent-cron-job-syncs": "cronjob-controller",
  "concurrent-daemonset-syncs": "daemonset-controller",
  "concurrent-deployment-syncs": "deployment-controller",
  "concurrent-endpoint-syncs": "endpoints-controller",
  "concurrent-ephemeralvolume-syncs": "ephemeral-volume-controller",
  "concurrent-horizontal-pod-autoscaler-syncs": "horizontal-pod-autoscaler-controller",
  "concurrent-job-syncs": "job-controller",
  "concurrent-namespace-syncs": "namespace-controller",
  "concurrent-rc-syncs": "replicationcontroller-controller",
  "concurrent-replicaset-syncs": "replicaset-controller",
  "concurrent-resource-quota-syncs": "resourcequota-controller",
  "concurrent-service-endpoint-syncs": "endpointslice-controller",
  "concurrent-service-syncs": "service-lb-controller",
  "concurrent-serviceaccount-token-syncs": "serviceaccount-token-controller",
  "concurrent-statefulset-syncs": "statefulset-controller",
  "concurrent-ttl-after-finished-syncs": "ttl-after-finished-controller",
  "mirroring-concurrent-service-endpoint-syncs": "endpointslice-mirroring-controller",
};

const unusedYet = "Accepted; the controller that needs it is not there yet";

const flags = {
  ...aloneFlags("kube-controller-manager", 10_257, 10_252),
  controllers: {
    type: "strings",
    value: "NAMES",
    help: 'Controllers to run: "*" for all that run by default, NAME for one, -NAME for all but one (default *)',
  },
  "use-service-account-credentials": {
    type: "bool",
    default: false,
    help: "Let each controller act as a service account of its own in kube-system",
  },
  "root-ca-file": { type: "string", value: "FILE", help: "Authority of the API server, which pods are told" },
  "allocate-node-cidrs": { type: "bool", default: false, help: "Give each node a network for its pods" },
  "cluster-cidr": { type: "strings", value: "CIDRS", help: "Where those are taken from" },
  "cidr-allocator-type": {
    type: "string",
    value: "NAME",
    default: rangeAllocator,
    help: "Who gives those networks: RangeAllocator",
  },
  "node-cidr-mask-size": {
    type: "int",
    help: "How many bits the prefix of a node's network has (default 24, 64 for IPv6)",
  },
  "node-cidr-mask-size-ipv4": { type: "int", help: "The same for IPv4, where a cluster has both" },
  "node-cidr-mask-size-ipv6": { type: "int", help: "The same for IPv6, where a cluster has both" },
  "service-cluster-ip-range": {
    type: "strings",
    value: "CIDRS",
    help: "Range of service addresses, which nodes do not get",
  },
  "node-monitor-grace-period": {
    type: "string",
    value: "DURATION",
    default: "50s",
    help: "How long a node may be silent before it counts as lost",
  },
  "node-startup-grace-period": {
    type: "string",
    value: "DURATION",
    default: "1m",
    help: "How long a node may take to post its first status",
  },
  "node-eviction-rate": {
    type: "string",
    value: "RATE",
    default: "0.1",
    help: "Lost nodes emptied per second and zone",
  },
  "secondary-node-eviction-rate": {
    type: "string",
    value: "RATE",
    default: "0.01",
    help: "The same where too many nodes of a large zone are lost",
  },
  "unhealthy-zone-threshold": {
    type: "string",
    value: "SHARE",
    default: "0.55",
    help: "From which share on there are too many",
  },
  "large-cluster-size-threshold": { type: "int", default: 50, help: "With how many nodes a zone counts as large" },
  "horizontal-pod-autoscaler-sync-period": {
    type: "string",
    value: "DURATION",
    default: "15s",
    help: "How often each autoscaler is looked at",
  },
  "horizontal-pod-autoscaler-tolerance": {
    type: "string",
    value: "SHARE",
    default: "0.1",
    help: "By how much a metric may miss its target before anything is scaled",
  },
  "horizontal-pod-autoscaler-downscale-stabilization": {
    type: "string",
    value: "DURATION",
    default: "5m0s",
    help: "For how long nothing is scaled below what was recommended before",
  },
  "horizontal-pod-autoscaler-cpu-initialization-period": {
    type: "string",
    value: "DURATION",
    default: "5m0s",
    help: "How long after its start a pod's use of processors may not count yet",
  },
  "horizontal-pod-autoscaler-initial-readiness-delay": {
    type: "string",
    value: "DURATION",
    default: "30s",
    help: "A pod that became unready this soon after its start has never been ready",
  },
  "kube-api-content-type": { type: "string", value: "TYPE", help: unusedYet },
  "cluster-name": { type: "string", default: "kubernetes", help: unusedYet },
  ...signingFlags,
  "legacy-service-account-token-clean-up-period": {
    type: "string",
    value: "DURATION",
    default: "8760h0m0s",
    help: "How long a token in a secret that nobody asked for may go unused until it is invalidated, and again until it is deleted",
  },
  "service-account-private-key-file": {
    type: "string",
    value: "FILE",
    help: "Key that signs tokens of service accounts which are kept in secrets; none are made without",
  },
  "terminated-pod-gc-threshold": {
    type: "int",
    default: 12_500,
    help: "How many pods that have ended are kept; 0 for all",
  },
} as const;
type Settings = FlagValues<typeof flags>;

const syncFlags: Flags = Object.fromEntries(
  Object.entries(workerFlags).map(([name, controller]) => [
    name,
    { type: "int", help: `How many objects the ${controller} looks at together` },
  ]),
);

export const controllerManagerFlags = { ...ineffectivePartFlags, ...syncFlags, ...flags };

export const controllerManagerCommand: Command = {
  use: "controller-manager [FLAGS]",
  help: flagsHelp(controllerManagerFlags),
  async run(args) {
    const { flags: settings, rest } = parseFlags(controllerManagerFlags, args);
    if (rest.length > 0) throw new UsageError(`controller-manager takes no arguments, got ${JSON.stringify(rest[0])}`);
    const isOn = controllerSwitch(settings.controllers.length === 0 ? ["*"] : settings.controllers);
    const rootCaFile = settings["root-ca-file"];
    const rootCa = rootCaFile === undefined ? undefined : flagFile("root-ca-file", rootCaFile, asCertificates);
    const keyFile = settings["service-account-private-key-file"];
    const keys =
      keyFile === undefined
        ? undefined
        : tokenKeys(flagFile("service-account-private-key-file", keyFile, asPrivateKey));
    const signing = signingBy(settings);
    const tokenFlag = "legacy-service-account-token-clean-up-period";
    const unusedTokenMs = durationFlag(tokenFlag, settings[tokenFlag]);
    const autoscaler = autoscalerSettings(settings);
    const workers = new Map(
      Object.entries(workerFlags).flatMap(([flag, controller]) => {
        const count: unknown = settings[flag as keyof typeof settings];
        return typeof count === "number" ? [[controller, count] as const] : [];
      }),
    );
    for (const [controller, count] of workers)
      if (count < 1) throw new UsageError(`the ${controller} needs at least one worker, not ${count}`);
    await runAlone("kube-controller-manager", settings, (context) =>
      controllerManager({
        ...context,
        clientFor: settings["use-service-account-credentials"] ? context.clientFor : () => context.client,
        settings: {
          discovery: context.discovery,
          rootCa: rootCa ?? context.ca,
          ...(keys && { signToken: keys.sign }),
          ...(signing && { signing }),
          unusedTokenMs,
          ...nodeSettings(settings),
          autoscaler,
          terminatedPodThreshold: settings["terminated-pod-gc-threshold"],
          isOn,
          workers: (name) => workers.get(name),
        },
      }),
    );
  },
};

function nodeSettings(settings: Settings): Pick<ControllerSettings, "nodeIpam" | "nodeLifecycle"> {
  const size = settings["node-cidr-mask-size"];
  const [ipv4, ipv6] = [settings["node-cidr-mask-size-ipv4"] ?? size, settings["node-cidr-mask-size-ipv6"] ?? size];
  const nodeIpam = {
    clusterCidrs: settings["cluster-cidr"],
    allocator: settings["cidr-allocator-type"],
    serviceCidrs: settings["service-cluster-ip-range"],
    nodeMaskSizes: { ...(ipv4 !== undefined && { ipv4 }), ...(ipv6 !== undefined && { ipv6 }) },
  };
  return {
    ...(settings["allocate-node-cidrs"] && { nodeIpam }),
    nodeLifecycle: {
      monitorMs: durationFlag("node-monitor-grace-period", settings["node-monitor-grace-period"]),
      startupMs: durationFlag("node-startup-grace-period", settings["node-startup-grace-period"]),
      perSecond: numberFlag(settings, "node-eviction-rate"),
      reducedPerSecond: numberFlag(settings, "secondary-node-eviction-rate"),
      tooMany: numberFlag(settings, "unhealthy-zone-threshold"),
      largeZone: settings["large-cluster-size-threshold"],
    },
  };
}

const autoscalerFlag = <Name extends string>(name: Name) => `horizontal-pod-autoscaler-${name}` as const;

function autoscalerSettings(settings: Settings): NonNullable<ControllerSettings["autoscaler"]> {
  const sync = autoscalerFlag("sync-period");
  const stabilization = autoscalerFlag("downscale-stabilization");
  const initialization = autoscalerFlag("cpu-initialization-period");
  const readiness = autoscalerFlag("initial-readiness-delay");
  return {
    syncMs: durationFlag(sync, settings[sync]),
    tolerance: numberFlag(settings, autoscalerFlag("tolerance")),
    downscaleStabilizationMs: delayFlag(stabilization, settings[stabilization]),
    cpuInitializationMs: delayFlag(initialization, settings[initialization]),
    initialReadinessMs: delayFlag(readiness, settings[readiness]),
  };
}

function numberFlag(
  settings: Settings,
  name:
    | "horizontal-pod-autoscaler-tolerance"
    | "node-eviction-rate"
    | "secondary-node-eviction-rate"
    | "unhealthy-zone-threshold",
): number {
  const number = Number(settings[name]);
  if (settings[name].trim() === "" || !(number >= 0) || number === Number.POSITIVE_INFINITY)
    throw new UsageError(`--${name} is a number of at least 0, not ${JSON.stringify(settings[name])}`);
  return number;
}
