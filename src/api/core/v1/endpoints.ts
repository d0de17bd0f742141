import { type Infer, int32, list, ref, resource, string, struct } from "#schema/index.ts";
import { ObjectReference } from "./references.ts";

export const EndpointAddress = struct(
  "core/v1.EndpointAddress",
  {
    ip: string(1).required(),
    hostname: string(3),
    nodeName: string(4).pointer(),
    targetRef: ref(2, ObjectReference),
  },
  { atomic: true },
);
export interface EndpointAddress extends Infer<typeof EndpointAddress> {}

export const EndpointPort = struct(
  "core/v1.EndpointPort",
  {
    name: string(1),
    port: int32(2).required(),
    protocol: string(3).oneOf("SCTP", "TCP", "UDP").default("TCP"),
    appProtocol: string(4).pointer(),
  },
  { atomic: true },
);
export interface EndpointPort extends Infer<typeof EndpointPort> {}

export const EndpointSubset = struct("core/v1.EndpointSubset", {
  addresses: list(1, EndpointAddress),
  notReadyAddresses: list(2, EndpointAddress),
  ports: list(3, EndpointPort),
});
export interface EndpointSubset extends Infer<typeof EndpointSubset> {}

export const Endpoints = resource({
  group: "",
  version: "v1",
  kind: "Endpoints",
  plural: "endpoints",
  shortNames: ["ep"],
  scope: "Namespaced",
  doc: "",
  fields: {
    subsets: list(2, EndpointSubset),
  },
});
export interface Endpoints extends Infer<typeof Endpoints> {}
