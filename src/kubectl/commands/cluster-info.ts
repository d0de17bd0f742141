// Upstream: kubectl/pkg/cmd/clusterinfo/clusterinfo.go.
import { isObject } from "#base/is-object.ts";
import { command } from "../command.ts";
import { metadataOf, stringIn } from "../resources/resource-info.ts";
import { specOf, statusOf } from "../workloads/pods.ts";

export const clusterInfo = command({
  use: "cluster-info",
  long: "Display where the control plane is, and services with the label kubernetes.io/cluster-service=true.",
  examples: "# Where the cluster is\nkubectl cluster-info",
  subcommands: [
    {
      name: "dump",
      short: "Dump what helps to find out why a cluster fails",
      load: async () => (await import("./cluster-info-dump.ts")).clusterInfoDump,
    },
  ],
  async run(session) {
    const { server } = await session.config();
    const namespace = session.isChanged("namespace") ? session.globals.namespace : "kube-system";
    const isColourful = session.io.stdout.isTTY === true && !session.io.env.NO_COLOR;
    const paint = (text: string, code: number) => (isColourful ? `\u001b[${code};1m${text}\u001b[0m` : text);
    const say = (name: string, url: string) => session.print(`${paint(name, 32)} is running at ${paint(url, 33)}`);
    const client = await session.client();
    const { items } = await client.json({
      path: `/api/v1/namespaces/${namespace}/services`,
      query: [["labelSelector", "kubernetes.io/cluster-service=true"]],
    });
    say("Kubernetes control plane", server);
    for (const service of (Array.isArray(items) ? items : []).filter(isObject))
      say(serviceTitle(service), serviceAddress(service, server));
    session.print("\nTo further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.");
  },
});

function serviceTitle(service: Readonly<Record<string, unknown>>): string {
  const { name, labels } = metadataOf(service);
  return stringIn(isObject(labels) ? labels["kubernetes.io/name"] : undefined) || stringIn(name);
}

/** What is balanced from outside has addresses of its own; the rest is reached through the API server. */
function serviceAddress(service: Readonly<Record<string, unknown>>, server: string): string {
  const { name, namespace } = metadataOf(service);
  const ports = (Array.isArray(specOf(service).ports) ? (specOf(service).ports as unknown[]) : []).filter(isObject);
  const balancer = statusOf(service).loadBalancer;
  const ingress = isObject(balancer) && Array.isArray(balancer.ingress) ? balancer.ingress.filter(isObject) : [];
  const [first] = ingress;
  if (first) return ports.map(({ port }) => `http://${first.ip ?? first.hostname}:${port} `).join("");
  const [port] = ports;
  const isHttps = port?.name === "https" || port?.port === 443;
  const scheme = isHttps ? "https:" : "";
  const portName = stringIn(port?.name);
  return `${server}/api/v1/namespaces/${namespace}/services/${scheme}${name}:${portName}/proxy`.replace(
    /(services\/[^:/]+):\/proxy$/,
    "$1/proxy",
  );
}
