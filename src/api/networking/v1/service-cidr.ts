import { type Infer, list, ref, resource, struct } from "#schema/index.ts";
import { Condition } from "../../meta/condition.ts";

export const ServiceCIDRSpec = struct("networking/v1.ServiceCIDRSpec", {
  cidrs: list(1, "string"),
});
export interface ServiceCIDRSpec extends Infer<typeof ServiceCIDRSpec> {}

export const ServiceCIDRStatus = struct("networking/v1.ServiceCIDRStatus", {
  conditions: list(1, Condition).keyedBy("type"),
});
export interface ServiceCIDRStatus extends Infer<typeof ServiceCIDRStatus> {}

export const ServiceCIDR = resource({
  group: "networking.k8s.io",
  version: "v1",
  kind: "ServiceCIDR",
  plural: "servicecidrs",
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, ServiceCIDRSpec).default({}),
    status: ref(3, ServiceCIDRStatus).default({}),
  },
  subresources: { status: true },
});
export interface ServiceCIDR extends Infer<typeof ServiceCIDR> {}
