import { bool, type Infer, int64, list, ref, resource, string, struct } from "#schema/index.ts";

export const TokenRequest = struct("storage/v1.TokenRequest", {
  audience: string(1).required(),
  expirationSeconds: int64(2).pointer(),
});
export interface TokenRequest extends Infer<typeof TokenRequest> {}

export const CSIDriverSpec = struct("storage/v1.CSIDriverSpec", {
  attachRequired: bool(1).pointer().default(true),
  podInfoOnMount: bool(2).pointer().default(false),
  volumeLifecycleModes: list(3, "string").asSet().default(["Persistent"]),
  storageCapacity: bool(4).pointer().default(false),
  fsGroupPolicy: string(5).pointer().default("ReadWriteOnceWithFSType"),
  tokenRequests: list(6, TokenRequest),
  requiresRepublish: bool(7).pointer().default(false),
  seLinuxMount: bool(8).pointer().default(false),
  nodeAllocatableUpdatePeriodSeconds: int64(9).pointer(),
  serviceAccountTokenInSecrets: bool(10).pointer(),
  preventPodSchedulingIfMissing: bool(11).off("VolumeLimitScaling").pointer().default(false),
});
export interface CSIDriverSpec extends Infer<typeof CSIDriverSpec> {}

export const CSIDriver = resource({
  group: "storage.k8s.io",
  version: "v1",
  kind: "CSIDriver",
  plural: "csidrivers",
  returnsDeleted: true,
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, CSIDriverSpec).required(),
  },
});
export interface CSIDriver extends Infer<typeof CSIDriver> {}
