// Upstream: kubectl/pkg/cmd/expose/expose.go and kubectl/pkg/polymorphichelpers.
import { command } from "../command.ts";
import { KubectlError } from "../errors.ts";
import type { FlagDeclarations, ParsedFlags } from "../flags.ts";
import { exposedParts } from "../generators/exposed-parts.ts";
import { filled, parseLabelPairs } from "../generators/generated.ts";
import { overridden } from "../generators/overrides.ts";
import { metadataOf, type ResourceInfo } from "../resources/resource-info.ts";
import { ResourceQuery } from "../resources/resource-query.ts";
import type { KubeObject } from "../rest/client.ts";
import {
  fieldManagerFlag,
  filenameFlags,
  printObject,
  recordFlag,
  saveConfigFlag,
  withSavedConfig,
  writeSettings,
  writtenFlags,
} from "../write-options.ts";
import { inNamespace, sendGenerated } from "./create-generated.ts";

const exposeFlags = {
  ...writtenFlags,
  ...filenameFlags,
  ...recordFlag,
  ...saveConfigFlag,
  ...fieldManagerFlag("kubectl-expose"),
  "cluster-ip": { type: "string", help: "The cluster IP; None for a headless service." },
  "external-ip": { type: "string", help: "An address that the service answers at, besides its own." },
  labels: { type: "string", short: "l", help: "Labels of the service." },
  "load-balancer-ip": { type: "string", help: "Address of the load balancer." },
  name: { type: "string", help: "The name of the service." },
  "override-type": { type: "string", default: "merge", help: "How --overrides is applied: json, merge or strategic." },
  overrides: { type: "string", help: "JSON that is put over the service." },
  port: { type: "string", help: "The port of the service; that of the object unless given." },
  protocol: { type: "string", help: "The protocol of the service." },
  selector: { type: "string", help: "Labels of the pods; those of the object unless given." },
  "session-affinity": { type: "string", help: "None or ClientIP." },
  "target-port": { type: "string", help: "Port or name of the port of the containers." },
  type: { type: "string", help: "ClusterIP, NodePort, LoadBalancer or ExternalName." },
} as const satisfies FlagDeclarations;
type ExposeFlags = ParsedFlags<typeof exposeFlags>;

export const expose = command({
  use: "expose (-f FILENAME | TYPE NAME) [--port=port] [--protocol=TCP|UDP|SCTP] [--target-port=number-or-name] [--name=name] [--external-ip=external-ip-of-service] [--type=type]",
  long: "Make a service for the pods of a service, pod, deployment, replica set or replication controller.",
  flags: exposeFlags,
  run: async (session, args, flags) => {
    const settings = writeSettings(session, flags, "exposed");
    const query = await ResourceQuery.of(session, {
      filenames: flags.filename,
      isRecursive: flags.recursive,
      kustomize: flags.kustomize,
      args,
      continueOnError: true,
      flatten: true,
    });
    await query.visit(async (info) => {
      const service = overridden(serviceFor(info, flags), flags.overrides, flags["override-type"]);
      const placed = withSavedConfig(await inNamespace(session, service), flags["save-config"]);
      printObject(session, settings.printer, await sendGenerated(session, settings, placed));
    });
  },
});

/** Names of services are shorter than those of other objects. */
const longestName = 63;

function serviceFor(info: ResourceInfo, flags: ExposeFlags): KubeObject {
  const parts = exposedParts(info.object ?? {}, flags.selector);
  const labels =
    flags.labels === ""
      ? ((metadataOf(info.object).labels ?? {}) as Readonly<Record<string, string>>)
      : parseLabelPairs(flags.labels);
  if (flags.port === "" && parts.ports.length === 0 && flags["cluster-ip"] !== "None")
    throw new KubectlError("couldn't find port via --port flag or introspection");
  const { "session-affinity": affinity } = flags;
  if (!["", "None", "ClientIP"].includes(affinity)) throw new KubectlError(`unknown session affinity: ${affinity}`);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...filled("labels", labels), name: flags.name || info.name.slice(0, longestName) },
    spec: {
      ...filled("clusterIP", flags["cluster-ip"]),
      ...filled("externalIPs", flags["external-ip"] === "" ? [] : [flags["external-ip"]]),
      ...(flags.type === "LoadBalancer" && filled("loadBalancerIP", flags["load-balancer-ip"])),
      ...filled("ports", servicePorts(flags, parts)),
      selector: flags.selector === "" ? parts.selector : parseLabelPairs(flags.selector),
      ...filled("sessionAffinity", affinity),
      ...filled("type", flags.type),
    },
    status: { loadBalancer: {} },
  };
}

function servicePorts(
  flags: ExposeFlags,
  { ports, protocols }: ReturnType<typeof exposedParts>,
): readonly KubeObject[] {
  const wanted = flags.port === "" ? ports : flags.port.split(",");
  return wanted.flatMap((text, i) => {
    if (!/^\d+$/.test(text)) throw new KubectlError(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
    const port = Number(text);
    const target = flags["target-port"];
    const targetPort = target === "" ? port : /^\d+$/.test(target) ? Number(target) : target;
    const name = wanted.length > 1 ? `port-${i + 1}` : "";
    const known = flags.protocol === "" ? (protocols.get(text) ?? []) : [flags.protocol];
    if (known.length <= 1) return [{ ...filled("name", name), port, protocol: known[0] ?? "TCP", targetPort }];
    return known.map((protocol) => ({ name: `port-${i + 1}-${protocol.toLowerCase()}`, port, protocol, targetPort }));
  });
}
