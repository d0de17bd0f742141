// Upstream: kubectl/pkg/cmd/create/create_service.go.
import { dns1123Subdomain } from "#schema/formats.ts";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { serviceOf } from "../../generators/services.ts";
import { createGenerated, generatorFlags } from "../create-generated.ts";
import { oneName } from "./one-name.ts";

const tcp = { type: "stringSlice", help: "Ports, as port:targetPort." } as const;
const needsPort = () => new KubectlError("at least one tcp port specifier must be provided");

const clusterIp = command({
  use: "clusterip NAME [--tcp=<port>:<targetPort>]",
  flags: {
    ...generatorFlags,
    clusterip: { type: "string", help: "The cluster IP; None for a headless service." },
    tcp,
  },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    if (flags.clusterip !== "None" && flags.tcp.length === 0) throw needsPort();
    const object = serviceOf({ name, type: "ClusterIP", tcp: flags.tcp, clusterIp: flags.clusterip });
    await createGenerated(session, flags, object, "failed to create ClusterIP service: ");
  },
});

const nodePort = command({
  use: "nodeport NAME [--tcp=port:targetPort]",
  flags: { ...generatorFlags, "node-port": { type: "int", help: "The port of every node." }, tcp },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    if (flags.tcp.length === 0) throw needsPort();
    const object = serviceOf({ name, type: "NodePort", tcp: flags.tcp, nodePort: flags["node-port"] });
    await createGenerated(session, flags, object, "failed to create NodePort service: ");
  },
});

const loadBalancer = command({
  use: "loadbalancer NAME [--tcp=port:targetPort]",
  flags: { ...generatorFlags, tcp },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    if (flags.tcp.length === 0) throw needsPort();
    const object = serviceOf({ name, type: "LoadBalancer", tcp: flags.tcp });
    await createGenerated(session, flags, object, "failed to create LoadBalancer service: ");
  },
});

const externalName = command({
  use: "externalname NAME --external-name external.name",
  flags: { ...generatorFlags, "external-name": { type: "string", help: "The name that the service stands for." }, tcp },
  run: async (session, _, flags, invocation) => {
    if (flags["external-name"] === "") throw new KubectlError('required flag(s) "external-name" not set');
    const name = oneName(invocation);
    if (dns1123Subdomain(flags["external-name"]).length > 0)
      throw new KubectlError(`invalid service external name ${flags["external-name"]}`);
    const object = serviceOf({ name, type: "ExternalName", tcp: flags.tcp, externalName: flags["external-name"] });
    await createGenerated(session, flags, object, "failed to create ExternalName service: ");
  },
});

export const createService = command({
  use: "service",
  long: "Create a service of one of the four types.",
  subcommands: [
    { name: "clusterip", short: "Create a ClusterIP service", load: async () => clusterIp },
    { name: "externalname", short: "Create an ExternalName service", load: async () => externalName },
    { name: "loadbalancer", short: "Create a LoadBalancer service", load: async () => loadBalancer },
    { name: "nodeport", short: "Create a NodePort service", load: async () => nodePort },
  ],
});
