import { equal } from "#base/collections.ts";
import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Label, dns1123Subdomain } from "#schema/formats.ts";
import {
  bool,
  type Infer,
  int32,
  invalid,
  list,
  map,
  type Problem,
  ref,
  required,
  resource,
  string,
  struct,
  tooMany,
} from "#schema/index.ts";
import { labelProblems } from "#schema/validate-metadata.ts";
import { ObjectReference } from "../../core/v1/references.ts";
import { firstFew } from "../../networking/v1/columns.ts";
import { checkAddress, checkHints, checkPorts, most } from "./checks.ts";

export const EndpointConditions = struct("discovery/v1.EndpointConditions", {
  ready: bool(1, "Whether it takes new connections; unknown counts as yes.").pointer(),
  serving: bool(2, "As ready, but also true while it is shutting down and still answers.").pointer(),
  terminating: bool(3, "Whether it is shutting down.").pointer(),
});
export interface EndpointConditions extends Infer<typeof EndpointConditions> {}

export const ForZone = struct("discovery/v1.ForZone", {
  name: string(1, "Name of the zone.").required(),
});
export interface ForZone extends Infer<typeof ForZone> {}

export const ForNode = struct("discovery/v1.ForNode", {
  name: string(1, "Name of the node.").required(),
});
export interface ForNode extends Infer<typeof ForNode> {}

export const EndpointHints = struct("discovery/v1.EndpointHints", {
  forZones: list(1, ForZone, "Zones whose clients should use this endpoint."),
  forNodes: list(2, ForNode, "Nodes whose clients should use this endpoint."),
});
export interface EndpointHints extends Infer<typeof EndpointHints> {}

export const Endpoint = struct("discovery/v1.Endpoint", {
  addresses: list(1, "string", "Where it is reached; all addresses mean the same endpoint.").asSet().required(),
  conditions: ref(2, EndpointConditions, "Whether it takes connections.").default({}),
  hostname: string(3, "A name for it in DNS.").pointer(),
  targetRef: ref(4, ObjectReference, "The object behind it, usually a pod."),
  deprecatedTopology: map(5, "string", "Labels of where it is, for objects made by old versions."),
  nodeName: string(6, "The node it is on.").pointer(),
  zone: string(7, "The zone it is in.").pointer(),
  hints: ref(8, EndpointHints, "Who should use it."),
});
export interface Endpoint extends Infer<typeof Endpoint> {}

export const EndpointPort = struct(
  "discovery/v1.EndpointPort",
  {
    name: string(1, "Name of the port, unique within the slice.").pointer().default(""),
    protocol: string(2, "Protocol of the port.").oneOf("SCTP", "TCP", "UDP").pointer().default("TCP"),
    port: int32(3, "Number of the port; a missing one leaves it to the reader.").pointer(),
    appProtocol: string(4, "What is spoken on the port, such as kubernetes.io/h2c.").pointer(),
  },
  { atomic: true },
);
export interface EndpointPort extends Infer<typeof EndpointPort> {}

function* checkEndpoint(path: string, endpoint: Endpoint, type: string): Iterable<Problem> {
  const { addresses, nodeName, deprecatedTopology = {}, hostname, hints } = endpoint;
  if (addresses.length === 0) yield required(`${path}.addresses`, "must contain at least 1 address");
  else if (addresses.length > most.addresses) yield tooMany(`${path}.addresses`, addresses.length, most.addresses);
  for (const [i, address] of addresses.entries()) yield* checkAddress(type, `${path}.addresses`, i, address);
  if (nodeName !== undefined)
    for (const detail of dns1123Subdomain(nodeName)) yield invalid(`${path}.nodeName`, detail);
  const labels = Object.keys(deprecatedTopology).length;
  if (labels > most.topologyLabels) yield tooMany(`${path}.deprecatedTopology`, labels, most.topologyLabels);
  yield* labelProblems(deprecatedTopology, `${path}.deprecatedTopology`);
  if (hostname !== undefined) for (const detail of dns1123Label(hostname)) yield invalid(`${path}.hostname`, detail);
  if (hints) for (const problem of checkHints(hints)) yield { ...problem, field: `${path}.hints.${problem.field}` };
}

export const EndpointSlice = resource({
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  scope: "Namespaced",
  doc: "A part of the endpoints of a service.",
  fields: {
    addressType: string(4, "What the addresses are: IPv4, IPv6 or names. Cannot change.")
      .nonEmpty()
      .oneOf("FQDN", "IPv4", "IPv6")
      .required(),
    endpoints: list(2, Endpoint, "The endpoints, at most 1000.").always(),
    ports: list(3, EndpointPort, "The ports that each endpoint has.").always(),
  },
  columns: [
    nameColumn,
    { name: "AddressType", doc: "What the addresses are.", cell: ({ addressType }) => addressType },
    {
      name: "Ports",
      doc: "The ports of each endpoint.",
      cell: ({ ports }) => firstFew(ports.map(({ port, name }) => String(port ?? name))),
    },
    {
      name: "Endpoints",
      doc: "Addresses of the endpoints.",
      cell: ({ endpoints }) => firstFew(endpoints.flatMap(({ addresses }) => addresses)),
    },
    ageColumn,
  ],
  *check({ addressType, endpoints, ports }, old): Iterable<Problem> {
    yield* checkPorts(ports);
    if (!old || !equal(old.endpoints, endpoints)) {
      if (endpoints.length > most.endpoints) yield tooMany("endpoints", endpoints.length, most.endpoints);
      else
        for (const [i, endpoint] of endpoints.entries()) yield* checkEndpoint(`endpoints[${i}]`, endpoint, addressType);
    }
    if (old && old.addressType !== addressType) yield invalid("addressType", "field is immutable");
  },
});
export interface EndpointSlice extends Infer<typeof EndpointSlice> {}
