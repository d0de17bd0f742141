import { bool, type Infer, int32, list, map, ref, resource, string, struct } from "#schema/index.ts";
import { ObjectReference } from "../../core/v1/references.ts";

export const EndpointConditions = struct("discovery/v1.EndpointConditions", {
  ready: bool(1).pointer(),
  serving: bool(2).pointer(),
  terminating: bool(3).pointer(),
});
export interface EndpointConditions extends Infer<typeof EndpointConditions> {}

export const ForZone = struct("discovery/v1.ForZone", {
  name: string(1).required(),
});
export interface ForZone extends Infer<typeof ForZone> {}

export const ForNode = struct("discovery/v1.ForNode", {
  name: string(1).required(),
});
export interface ForNode extends Infer<typeof ForNode> {}

export const EndpointHints = struct("discovery/v1.EndpointHints", {
  forZones: list(1, ForZone),
  forNodes: list(2, ForNode),
});
export interface EndpointHints extends Infer<typeof EndpointHints> {}

export const Endpoint = struct("discovery/v1.Endpoint", {
  addresses: list(1, "string").asSet().required(),
  conditions: ref(2, EndpointConditions).default({}),
  hostname: string(3).pointer(),
  targetRef: ref(4, ObjectReference),
  deprecatedTopology: map(5, "string"),
  nodeName: string(6).pointer(),
  zone: string(7).pointer(),
  hints: ref(8, EndpointHints),
});
export interface Endpoint extends Infer<typeof Endpoint> {}

export const EndpointPort = struct(
  "discovery/v1.EndpointPort",
  {
    name: string(1).pointer().default(""),
    protocol: string(2).oneOf("SCTP", "TCP", "UDP").pointer().default("TCP"),
    port: int32(3).pointer(),
    appProtocol: string(4).pointer(),
  },
  { atomic: true },
);
export interface EndpointPort extends Infer<typeof EndpointPort> {}

export const EndpointSlice = resource({
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  scope: "Namespaced",
  doc: "",
  fields: {
    addressType: string(4).oneOf("FQDN", "IPv4", "IPv6").required(),
    endpoints: list(2, Endpoint).always(),
    ports: list(3, EndpointPort).always(),
  },
});
export interface EndpointSlice extends Infer<typeof EndpointSlice> {}
