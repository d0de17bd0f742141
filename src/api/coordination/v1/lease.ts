import { type Infer, int32, microTime, ref, resource, string, struct } from "#schema/index.ts";

export const LeaseSpec = struct("coordination/v1.LeaseSpec", {
  holderIdentity: string(1).pointer(),
  leaseDurationSeconds: int32(2).pointer(),
  acquireTime: microTime(3).pointer(),
  renewTime: microTime(4).pointer(),
  leaseTransitions: int32(5).pointer(),
  strategy: string(6).off("CoordinatedLeaderElection").pointer(),
  preferredHolder: string(7).off("CoordinatedLeaderElection").pointer(),
});
export interface LeaseSpec extends Infer<typeof LeaseSpec> {}

export const Lease = resource({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, LeaseSpec).default({}),
  },
});
export interface Lease extends Infer<typeof Lease> {}
