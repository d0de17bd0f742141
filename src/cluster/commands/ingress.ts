import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { runIngress } from "../alone/run-ingress.ts";

const flags = {
  haproxy: { type: "string", value: "FILE", default: "/usr/sbin/haproxy", help: "The proxy's program" },
  folder: { type: "string", value: "FOLDER", default: "/run/haproxy", help: "Where its files are written" },
  "publish-service": {
    type: "string",
    value: "NAMESPACE/NAME",
    default: "kube-system/ingress",
    help: "Service by which it is reached, whose address Ingresses tell",
  },
  "http-port": { type: "int", default: 80, help: "Port of plain HTTP" },
  "https-port": { type: "int", default: 443, help: "Port of HTTPS" },
  "health-port": { type: "int", default: 10_254, help: "Port of /healthz and /readyz" },
  "metrics-port": { type: "int", default: 9101, help: "Port of the proxy's own /metrics" },
  kubeconfig: { type: "string", value: "FILE", help: "Cluster to serve; in a pod, that of the pod" },
} as const;

export const ingress: Command = {
  use: "ingress [FLAGS]",
  help: [
    "Keeps a HAProxy configured as the Ingresses of a cluster say, whose class has the controller knarr.local/ingress. Endpoints, routes",
    "and certificates change while it runs; new backends take a reload, which drops no connection. The add-on ingress runs it in pods.",
    "",
    "Of ingress-nginx's annotations it knows: affinity, allowlist-source-range, app-root, auth-secret, auth-type, backend-protocol,",
    "denylist-source-range, force-ssl-redirect, limit-rps, permanent-redirect, proxy-body-size, proxy-connect-timeout,",
    "proxy-read-timeout, rewrite-target, session-cookie-name, ssl-redirect, temporal-redirect, upstream-vhost, use-regex,",
    "whitelist-source-range.",
    "",
    flagsHelp(flags),
  ].join("\n"),
  async run(args) {
    const { flags: settings, rest } = parseFlags(flags, args);
    if (rest.length > 0) throw new UsageError(`ingress takes no arguments, but was given ${rest.join(" ")}`);
    await runIngress({
      haproxy: settings.haproxy,
      folder: settings.folder,
      service: settings["publish-service"],
      httpPort: settings["http-port"],
      httpsPort: settings["https-port"],
      healthPort: settings["health-port"],
      metricsPort: settings["metrics-port"],
      kubeconfig: settings.kubeconfig,
    });
  },
};
