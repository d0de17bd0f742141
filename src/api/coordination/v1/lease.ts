import { ageColumn, nameColumn } from "#schema/columns.ts";
import { type Infer, int32, invalid, microTime, ref, resource, string, struct } from "#schema/index.ts";

export const LeaseSpec = struct(
  "coordination/v1.LeaseSpec",
  {
    holderIdentity: string(1, "Who holds the lease.").pointer(),
    leaseDurationSeconds: int32(2, "Seconds without a renewal after which others may take it.").pointer(),
    acquireTime: microTime(3, "When the holder took it.").pointer(),
    renewTime: microTime(4, "When the holder last renewed it.").pointer(),
    leaseTransitions: int32(5, "How often it has changed hands.").min(0).pointer(),
    strategy: string(6, "How the next holder is picked, if that is coordinated.")
      .off("CoordinatedLeaderElection")
      .pointer(),
    preferredHolder: string(7, "Who should hold it next.").off("CoordinatedLeaderElection").pointer(),
  },
  {
    *check({ leaseDurationSeconds: seconds }) {
      if (seconds !== undefined && seconds <= 0) yield invalid("leaseDurationSeconds", "must be greater than 0");
    },
  },
);
export interface LeaseSpec extends Infer<typeof LeaseSpec> {}

export const Lease = resource({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  scope: "Namespaced",
  doc: "Something that one holder at a time has, until it stops renewing. Leaders are elected with it, and nodes show by it that they live.",
  fields: {
    spec: ref(2, LeaseSpec, "Who holds it.").default({}),
  },
  columns: [nameColumn, { name: "Holder", doc: "Who holds it.", cell: ({ spec }) => spec.holderIdentity }, ageColumn],
});
export interface Lease extends Infer<typeof Lease> {}
