import { readFileSync } from "node:fs";
import { catalog } from "#api/catalog.ts";
import { UsageError } from "#base/errors.ts";
import { aloneFlags } from "../alone/flags.ts";
import { runAlone } from "../alone/run-alone.ts";
import type { Command } from "../command.ts";
import { controllerManager } from "../controller-manager.ts";
import { controllerSwitch } from "../controller-switches.ts";
import { type Flags, flagsHelp, parseFlags } from "../flags.ts";

/** How many objects a controller looks at together, by upstream's flags. */
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
  ...aloneFlags("kube-controller-manager", 10_257),
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
  "allocate-node-cidrs": { type: "bool", default: false, help: unusedYet },
  "cluster-cidr": { type: "string", value: "CIDR", help: unusedYet },
  "cluster-name": { type: "string", default: "kubernetes", help: unusedYet },
  "cluster-signing-cert-file": { type: "string", value: "FILE", help: unusedYet },
  "cluster-signing-key-file": { type: "string", value: "FILE", help: unusedYet },
  "node-cidr-mask-size": { type: "int", help: unusedYet },
  "node-cidr-mask-size-ipv4": { type: "int", help: unusedYet },
  "node-cidr-mask-size-ipv6": { type: "int", help: unusedYet },
  "service-account-private-key-file": { type: "string", value: "FILE", help: unusedYet },
  "service-cluster-ip-range": { type: "string", value: "CIDR", help: unusedYet },
  "terminated-pod-gc-threshold": {
    type: "int",
    default: 12_500,
    help: "How many pods that have ended are kept; 0 for all",
  },
} as const;
const syncFlags: Flags = Object.fromEntries(
  Object.entries(workerFlags).map(([name, controller]) => [
    name,
    { type: "int", help: `How many objects the ${controller} looks at together` },
  ]),
);

export const controllerManagerCommand: Command = {
  use: "controller-manager [FLAGS]",
  help: flagsHelp({ ...flags, ...syncFlags }),
  async run(args) {
    const { flags: settings, rest } = parseFlags({ ...syncFlags, ...flags }, args);
    if (rest.length > 0) throw new UsageError(`controller-manager takes no arguments, got ${JSON.stringify(rest[0])}`);
    const isOn = controllerSwitch(settings.controllers.length === 0 ? ["*"] : settings.controllers);
    const rootCaFile = settings["root-ca-file"];
    const rootCa = rootCaFile === undefined ? "" : readFileSync(rootCaFile, "utf8");
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
          discover: async () => catalog,
          rootCa,
          terminatedPodThreshold: settings["terminated-pod-gc-threshold"],
          isOn: (name) => isOn(name) && (name !== "root-ca-certificate-publisher-controller" || rootCa !== ""),
          workers: (name) => workers.get(name),
        },
      }),
    );
  },
};
