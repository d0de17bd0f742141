import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Label } from "#schema/formats.ts";
import { type Infer, int32, list, type Problem, ref, resource, string, struct } from "#schema/index.ts";
import { checkEndpoints, checkParts } from "./checks/endpoints.ts";
import { formatEndpoints } from "./columns/endpoints.ts";
import { ObjectReference } from "./references.ts";

export const EndpointAddress = struct(
  "core/v1.EndpointAddress",
  {
    ip: string(1, "The address.").required(),
    hostname: string(3, "Name of the endpoint within its service.").is(dns1123Label),
    nodeName: string(4, "The node it is on.").pointer(),
    targetRef: ref(2, ObjectReference, "What has the address, mostly a pod."),
  },
  { doc: "One address of a service's endpoints.", atomic: true },
);
export interface EndpointAddress extends Infer<typeof EndpointAddress> {}

export const EndpointPort = struct(
  "core/v1.EndpointPort",
  {
    name: string(1, "Name of the service's port; needed if there are several.").is(dns1123Label),
    port: int32(2, "Number of the port.").required().min(1).max(65535),
    protocol: string(3, "Protocol of the port.").oneOf("SCTP", "TCP", "UDP").default("TCP"),
    appProtocol: string(4, "What is spoken on the port.").pointer(),
  },
  { doc: "One port of a service's endpoints.", atomic: true, problemOrder: "name port protocol" },
);
export interface EndpointPort extends Infer<typeof EndpointPort> {}

export const EndpointSubset = struct(
  "core/v1.EndpointSubset",
  {
    addresses: list(1, EndpointAddress, "Addresses that take traffic."),
    notReadyAddresses: list(2, EndpointAddress, "Addresses that do not take traffic yet, or no longer."),
    ports: list(3, EndpointPort, "Ports of all these addresses."),
  },
  {
    doc: "Addresses that have the same ports.",
    problemOrder: ". * ports",
    check: (subset): Iterable<Problem> => checkParts(subset),
  },
);
export interface EndpointSubset extends Infer<typeof EndpointSubset> {}

export const Endpoints = resource({
  group: "",
  version: "v1",
  kind: "Endpoints",
  plural: "endpoints",
  shortNames: ["ep"],
  scope: "Namespaced",
  doc: "The addresses behind the service of the same name. EndpointSlices have taken their place.",
  deprecated: { since: "v1.33", use: "discovery.k8s.io/v1 EndpointSlice" },
  fields: {
    subsets: list(2, EndpointSubset, "Addresses, by the ports they have."),
  },
  columns: [
    nameColumn,
    {
      name: "Endpoints",
      doc: "The first few addresses with their ports.",
      cell: ({ subsets }): string => formatEndpoints(subsets),
    },
    ageColumn,
  ],
  check: (endpoints, old): Iterable<Problem> => checkEndpoints(endpoints, old),
});
export interface Endpoints extends Infer<typeof Endpoints> {}
