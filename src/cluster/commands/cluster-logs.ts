import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { runLogCollector } from "../alone/run-log-collector.ts";
import { runLogStore } from "../alone/run-log-store.ts";

const flags = {
  config: { type: "string", value: "FOLDER", default: "/etc/logs", help: "Settings, a file for each" },
  kubeconfig: { type: "string", value: "FILE", help: "Cluster to work for; in a pod, that of the pod" },
  node: { type: "string", value: "NAME", help: "collect: the node; defaults to $NODE_NAME" },
  logs: { type: "string", value: "FOLDER", default: "/var/log/pods", help: "collect: where logs of pods are" },
  state: { type: "string", value: "FOLDER", default: "/var/lib/logs", help: "collect: where checkpoints are kept" },
  credentials: {
    type: "string",
    value: "FOLDER",
    default: "/etc/logs-output",
    help: "collect: authorization and ca.crt for an output outside of the cluster",
  },
  store: {
    type: "string",
    value: "URL",
    default: "https://logs.kube-system.svc",
    help: "collect: the store; store: the name by which it is reached",
  },
  data: { type: "string", value: "FOLDER", default: "/var/lib/logs", help: "store: where lines are kept" },
  port: { type: "int", default: 8443, help: "store: port of the API" },
  "health-port": { type: "int", default: 9115, help: "Port of /healthz, /readyz and /metrics" },
} as const;

export const clusterLogs: Command = {
  use: "cluster-logs collect|store [FLAGS]",
  help: [
    "What the add-on logs runs in pods: collect follows the logs of a node's containers and sends them on, store keeps and searches them.",
    'Settings are those of the ConfigMap logs in kube-system: see the comments in manifests/logs.yaml. Search with "knarr logs".',
    "",
    flagsHelp(flags),
  ].join("\n"),
  async run(args) {
    const { flags: settings, rest } = parseFlags(flags, args);
    const [verb, ...more] = rest;
    if ((verb !== "collect" && verb !== "store") || more.length > 0)
      throw new UsageError(`cluster-logs takes collect or store, but was given ${rest.join(" ") || "nothing"}`);
    if (!URL.canParse(settings.store)) throw new UsageError(`--store: ${JSON.stringify(settings.store)} is no URL`);
    const shared = { config: settings.config, kubeconfig: settings.kubeconfig };
    if (verb === "store") {
      const { hostname: host } = new URL(settings.store);
      const { data, port } = settings;
      return runLogStore({ ...shared, data, host, port, healthPort: settings["health-port"] });
    }
    const node = settings.node ?? process.env.NODE_NAME;
    if (!node) throw new UsageError("say which node: --node or $NODE_NAME");
    const { logs, state, credentials, store } = settings;
    return runLogCollector({ ...shared, node, logs, state, credentials, store, port: settings["health-port"] });
  },
};
