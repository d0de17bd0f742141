import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { runGateway } from "../alone/run-gateway.ts";

const flags = {
  haproxy: { type: "string", value: "FILE", default: "/usr/sbin/haproxy", help: "The proxy's program" },
  folder: { type: "string", value: "FOLDER", default: "/run/haproxy", help: "Where its files are written" },
  deployment: {
    type: "string",
    value: "NAMESPACE/NAME",
    default: "kube-system/gateway",
    help: "Deployment that this runs in; the services of Gateways are in its namespace and lead to its pods",
  },
  "health-port": { type: "int", default: 10_254, help: "Port of /healthz and /readyz" },
  "metrics-port": { type: "int", default: 9101, help: "Port of the proxy's own /metrics" },
  kubeconfig: { type: "string", value: "FILE", help: "Cluster to serve; in a pod, that of the pod" },
} as const;

export const gateway: Command = {
  use: "gateway [FLAGS]",
  help: [
    "Keeps a HAProxy configured as the Gateways, HTTPRoutes, GRPCRoutes and TLSRoutes of a cluster say, whose GatewayClass has the",
    "controller knarr.local/gateway. Each Gateway gets a service of type LoadBalancer of its own. Endpoints, weights and certificates",
    "change while the proxy runs; new rules and ports take a reload, which drops no connection. The add-on gateway runs it in pods.",
    "",
    "Not supported, and refused with a condition: listeners for TCP and UDP, certificates of clients, mirrored requests, CORS, filters of",
    "one backend among several.",
    "",
    flagsHelp(flags),
  ].join("\n"),
  async run(args) {
    const { flags: settings, rest } = parseFlags(flags, args);
    if (rest.length > 0) throw new UsageError(`gateway takes no arguments, but was given ${rest.join(" ")}`);
    if (!/^[^/]+\/[^/]+$/.test(settings.deployment))
      throw new UsageError(`--deployment is NAMESPACE/NAME, but was given ${settings.deployment}`);
    await runGateway({
      haproxy: settings.haproxy,
      folder: settings.folder,
      deployment: settings.deployment,
      healthPort: settings["health-port"],
      metricsPort: settings["metrics-port"],
      kubeconfig: settings.kubeconfig,
    });
  },
};
