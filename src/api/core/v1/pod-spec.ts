import { bool, type Infer, int32, int64, list, map, ref, string, struct } from "#schema/index.ts";
import { ObjectMeta } from "#schema/object-meta.ts";
import { Affinity, Toleration, TopologySpreadConstraint } from "./affinity.ts";
import { Container, EphemeralContainer } from "./container.ts";
import { LocalObjectReference } from "./references.ts";
import { ResourceRequirements } from "./resources.ts";
import { PodSecurityContext } from "./security-context.ts";
import { Volume } from "./volume.ts";

export const HostAlias = struct("core/v1.HostAlias", {
  ip: string(1).required(),
  hostnames: list(2, "string"),
});
export interface HostAlias extends Infer<typeof HostAlias> {}

export const PodDNSConfigOption = struct("core/v1.PodDNSConfigOption", {
  name: string(1),
  value: string(2).pointer(),
});
export interface PodDNSConfigOption extends Infer<typeof PodDNSConfigOption> {}

export const PodDNSConfig = struct("core/v1.PodDNSConfig", {
  nameservers: list(1, "string"),
  searches: list(2, "string"),
  options: list(3, PodDNSConfigOption),
});
export interface PodDNSConfig extends Infer<typeof PodDNSConfig> {}

export const PodOS = struct("core/v1.PodOS", {
  name: string(1).required(),
});
export interface PodOS extends Infer<typeof PodOS> {}

export const PodReadinessGate = struct("core/v1.PodReadinessGate", {
  conditionType: string(1).required(),
});
export interface PodReadinessGate extends Infer<typeof PodReadinessGate> {}

export const PodResourceClaim = struct("core/v1.PodResourceClaim", {
  name: string(1).required(),
  resourceClaimName: string(3).pointer(),
  resourceClaimTemplateName: string(4).pointer(),
});
export interface PodResourceClaim extends Infer<typeof PodResourceClaim> {}

export const PodSchedulingGate = struct("core/v1.PodSchedulingGate", {
  name: string(1).required(),
});
export interface PodSchedulingGate extends Infer<typeof PodSchedulingGate> {}

export const PodSchedulingGroup = struct(
  "core/v1.PodSchedulingGroup",
  {
    podGroupName: string(1).pointer(),
  },
  { union: { fields: { podGroupName: "PodGroupName" } } },
);
export interface PodSchedulingGroup extends Infer<typeof PodSchedulingGroup> {}

export const PodSpec = struct("core/v1.PodSpec", {
  volumes: list(1, Volume).keyedBy("name").patch("merge,retainKeys"),
  initContainers: list(20, Container).keyedBy("name"),
  containers: list(2, Container).keyedBy("name").required(),
  ephemeralContainers: list(34, EphemeralContainer).keyedBy("name"),
  restartPolicy: string(3).oneOf("Always", "Never", "OnFailure").default("Always"),
  terminationGracePeriodSeconds: int64(4).pointer().default(30),
  activeDeadlineSeconds: int64(5).pointer(),
  dnsPolicy: string(6).oneOf("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None").default("ClusterFirst"),
  nodeSelector: map(7, "string").atomic(),
  serviceAccountName: string(8),
  serviceAccount: string(9),
  automountServiceAccountToken: bool(21).pointer(),
  nodeName: string(10),
  hostNetwork: bool(11),
  hostPID: bool(12),
  hostIPC: bool(13),
  shareProcessNamespace: bool(27).pointer(),
  securityContext: ref(14, PodSecurityContext).pointer().default({}),
  imagePullSecrets: list(15, LocalObjectReference).keyedBy("name"),
  hostname: string(16),
  subdomain: string(17),
  affinity: ref(18, Affinity),
  schedulerName: string(19).default("default-scheduler"),
  tolerations: list(22, Toleration),
  hostAliases: list(23, HostAlias).keyedBy("ip"),
  priorityClassName: string(24),
  priority: int32(25).pointer(),
  dnsConfig: ref(26, PodDNSConfig),
  readinessGates: list(28, PodReadinessGate),
  runtimeClassName: string(29).pointer(),
  enableServiceLinks: bool(30).pointer(),
  preemptionPolicy: string(31).oneOf("Never", "PreemptLowerPriority").pointer(),
  overhead: map(32, "quantity"),
  topologySpreadConstraints: list(33, TopologySpreadConstraint).keyedBy("topologyKey", "whenUnsatisfiable"),
  setHostnameAsFQDN: bool(35).pointer(),
  os: ref(36, PodOS),
  hostUsers: bool(37).pointer(),
  schedulingGates: list(38, PodSchedulingGate).keyedBy("name"),
  resourceClaims: list(39, PodResourceClaim).keyedBy("name").patch("merge,retainKeys"),
  resources: ref(40, ResourceRequirements),
  hostnameOverride: string(41).pointer(),
  schedulingGroup: ref(43, PodSchedulingGroup).off("GenericWorkload"),
});
export interface PodSpec extends Infer<typeof PodSpec> {}

export const PodTemplateSpec = struct("core/v1.PodTemplateSpec", {
  metadata: ref(1, ObjectMeta).default({}),
  spec: ref(2, PodSpec).default({}),
});
export interface PodTemplateSpec extends Infer<typeof PodTemplateSpec> {}
