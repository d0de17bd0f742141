import { ageColumn, nameColumn } from "#schema/columns.ts";
import { type Infer, list, ref, resource, struct } from "#schema/index.ts";
import { UncheckedCondition } from "../../meta/condition.ts";
import { checkServiceCidrs } from "./checks.ts";

export const ServiceCIDRSpec = struct(
  "networking/v1.ServiceCIDRSpec",
  {
    cidrs: list(1, "string", "One range, or one of each family. A second can be added later; nothing else changes."),
  },
  {
    *check({ cidrs = [] }, old) {
      yield* checkServiceCidrs(cidrs, old && (old.cidrs ?? []));
    },
  },
);
export interface ServiceCIDRSpec extends Infer<typeof ServiceCIDRSpec> {}

export const ServiceCIDRStatus = struct("networking/v1.ServiceCIDRStatus", {
  conditions: list(1, UncheckedCondition, "Whether addresses are given out of the range.").keyedBy("type"),
});
export interface ServiceCIDRStatus extends Infer<typeof ServiceCIDRStatus> {}

export const ServiceCIDR = resource({
  group: "networking.k8s.io",
  version: "v1",
  kind: "ServiceCIDR",
  plural: "servicecidrs",
  scope: "Cluster",
  doc: "A range of addresses that services get theirs from.",
  fields: {
    spec: ref(2, ServiceCIDRSpec, "What is wanted.").default({}),
    status: ref(3, ServiceCIDRStatus, "What is there.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    { name: "CIDRs", doc: "The ranges.", cell: ({ spec }) => (spec.cidrs ?? []).join(",") },
    ageColumn,
  ],
});
export interface ServiceCIDR extends Infer<typeof ServiceCIDR> {}
