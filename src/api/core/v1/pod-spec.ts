import { dns1123Label, dns1123Subdomain } from "#schema/formats.ts";
import { bool, type Infer, int32, int64, list, map, type Problem, ref, string, struct } from "#schema/index.ts";
import { ObjectMeta } from "#schema/object-meta.ts";
import { Affinity, Toleration, TopologySpreadConstraint } from "./affinity.ts";
import { mountsOfRefusedVolumes } from "./checks/containers.ts";
import { checkDnsConfig, checkHostAlias, checkPodSpec, checkResourceClaim } from "./checks/pod-spec.ts";
import { checkPodTemplate } from "./checks/pod-template.ts";
import { Container, EphemeralContainer } from "./container.ts";
import { roundUpAmounts, syncServiceAccount } from "./defaults.ts";
import { LocalObjectReference } from "./references.ts";
import { ResourceRequirements } from "./resources.ts";
import { PodSecurityContext } from "./security-context.ts";
import { Volume } from "./volume.ts";

export const HostAlias = struct(
  "core/v1.HostAlias",
  {
    ip: string(1, "The address.").required(),
    hostnames: list(2, "string", "Names for the address."),
  },
  { doc: "A line of the pod's hosts file.", check: (alias): Iterable<Problem> => checkHostAlias(alias) },
);
export interface HostAlias extends Infer<typeof HostAlias> {}

export const PodDNSConfigOption = struct(
  "core/v1.PodDNSConfigOption",
  {
    name: string(1, "Name of the option, such as ndots."),
    value: string(2, "Value of the option, if it takes one.").pointer(),
  },
  { doc: "An option of the resolver." },
);
export interface PodDNSConfigOption extends Infer<typeof PodDNSConfigOption> {}

export const PodDNSConfig = struct(
  "core/v1.PodDNSConfig",
  {
    nameservers: list(1, "string", "Addresses of DNS servers, besides those of the policy; three at most."),
    searches: list(2, "string", "Domains to look short names up in, besides those of the policy."),
    options: list(3, PodDNSConfigOption, "Options of the resolver; they win over those of the policy."),
  },
  {
    doc: "What goes into the pod's resolv.conf besides what the DNS policy puts there.",
    check: (config): Iterable<Problem> => checkDnsConfig(config),
  },
);
export interface PodDNSConfig extends Infer<typeof PodDNSConfig> {}

export const PodOS = struct(
  "core/v1.PodOS",
  {
    name: string(1, "linux or windows.").required(),
  },
  { doc: "The operating system the containers are made for." },
);
export interface PodOS extends Infer<typeof PodOS> {}

export const PodReadinessGate = struct(
  "core/v1.PodReadinessGate",
  {
    conditionType: string(1, "Type of a condition in the pod's status.").required(),
  },
  { doc: "A condition without which the pod is not ready." },
);
export interface PodReadinessGate extends Infer<typeof PodReadinessGate> {}

export const PodResourceClaim = struct(
  "core/v1.PodResourceClaim",
  {
    name: string(1, "Name that containers refer to, unique in the pod.").required(),
    resourceClaimName: string(3, "A resource claim in the pod's namespace.").pointer(),
    resourceClaimTemplateName: string(4, "A template of which a claim is made for this pod.").pointer(),
  },
  {
    doc: "Devices for the pod: a claim, or a template to make one of.",
    problemOrder: "name .",
    check: (claim): Iterable<Problem> => checkResourceClaim(claim),
  },
);
export interface PodResourceClaim extends Infer<typeof PodResourceClaim> {}

export const PodSchedulingGate = struct(
  "core/v1.PodSchedulingGate",
  {
    name: string(1, "Name of the gate, unique in the pod.").required(),
  },
  { doc: "Keeps the scheduler away until it is removed." },
);
export interface PodSchedulingGate extends Infer<typeof PodSchedulingGate> {}

export const PodSchedulingGroup = struct(
  "core/v1.PodSchedulingGroup",
  {
    podGroupName: string(1, "Name of the group.").pointer(),
  },
  { doc: "Pods that are scheduled together.", union: { fields: { podGroupName: "PodGroupName" } } },
);
export interface PodSchedulingGroup extends Infer<typeof PodSchedulingGroup> {}

export const PodSpec = struct(
  "core/v1.PodSpec",
  {
    volumes: list(1, Volume, "Storage that the containers may mount.").keyedBy("name").patch("merge,retainKeys"),
    initContainers: list(
      20,
      Container,
      "Containers that run one after another, each to its end, before the others start.",
    ).keyedBy("name"),
    containers: list(2, Container, "Containers that run together; at least one.").keyedBy("name").required().nonEmpty(),
    ephemeralContainers: list(34, EphemeralContainer, "Containers added to the running pod to look into it.").keyedBy(
      "name",
    ),
    restartPolicy: string(3, "Which containers are started again when they end.")
      .known("Always", "Never", "OnFailure")
      .default("Always"),
    terminationGracePeriodSeconds: int64(4, "Seconds the containers get to end by themselves before they are killed.")
      .pointer()
      .default(30),
    activeDeadlineSeconds: int64(5, "Seconds the pod may be active before it is ended as failed.")
      .min(1)
      .max(2 ** 31 - 1)
      .pointer(),
    dnsPolicy: string(6, "Where names are looked up: in the cluster first, as the node does, or as dnsConfig says.")
      .known("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
      .default("ClusterFirst"),
    nodeSelector: map(7, "string", "Labels a node must have to run the pod.").atomic(),
    serviceAccountName: string(8, "Service account whose rights the pod has.").is(dns1123Subdomain),
    serviceAccount: string(9, "Former name of serviceAccountName."),
    automountServiceAccountToken: bool(21, "Whether a token of the service account is mounted.").pointer(),
    nodeName: string(10, "The node the pod runs on; set by the scheduler, or by whoever knows better.").is(
      dns1123Subdomain,
    ),
    hostNetwork: bool(11, "Whether the pod uses the node's own network."),
    hostPID: bool(12, "Whether the pod sees the node's processes."),
    hostIPC: bool(13, "Whether the pod shares the node's IPC."),
    shareProcessNamespace: bool(27, "Whether the containers see each other's processes.").pointer(),
    securityContext: ref(14, PodSecurityContext, "Rights of all containers; a container's own say goes first.")
      .pointer()
      .default({}),
    imagePullSecrets: list(15, LocalObjectReference, "Secrets to pull the images with.").keyedBy("name"),
    hostname: string(16, "Host name of the pod; its name when left out.").is(dns1123Label),
    subdomain: string(
      17,
      "Makes the full host name <hostname>.<subdomain>.<namespace>.svc and the cluster's domain.",
    ).is(dns1123Label),
    affinity: ref(18, Affinity, "Nodes and pods to run near to or away from."),
    schedulerName: string(19, "The scheduler that places the pod.").default("default-scheduler"),
    tolerations: list(22, Toleration, "Taints of nodes that do not keep the pod away."),
    hostAliases: list(23, HostAlias, "Lines to add to the pod's hosts file.").keyedBy("ip"),
    priorityClassName: string(24, "How important the pod is, by name of a priority class.").is(dns1123Subdomain),
    priority: int32(25, "How important the pod is, as a number; taken from the class.").pointer(),
    dnsConfig: ref(26, PodDNSConfig, "What goes into resolv.conf besides what dnsPolicy puts there."),
    readinessGates: list(28, PodReadinessGate, "Conditions without which the pod is not ready."),
    runtimeClassName: string(29, "Runtime class to run the pod with.").pointer(),
    enableServiceLinks: bool(30, "Whether variables tell the addresses of services.").pointer(),
    preemptionPolicy: string(31, "Whether the pod may push out pods of lower priority.")
      .known("Never", "PreemptLowerPriority")
      .pointer(),
    overhead: map(32, "quantity", "What running the pod costs besides its containers; taken from the runtime class."),
    topologySpreadConstraints: list(33, TopologySpreadConstraint, "How evenly pods like this are spread.").keyedBy(
      "topologyKey",
      "whenUnsatisfiable",
    ),
    setHostnameAsFQDN: bool(35, "Whether the full host name is used as the host name.").pointer(),
    os: ref(36, PodOS, "The operating system the containers are made for."),
    hostUsers: bool(37, "Whether user ids are those of the node; false gives the pod its own.").pointer(),
    schedulingGates: list(38, PodSchedulingGate, "The pod is not scheduled until this list is empty.").keyedBy("name"),
    resourceClaims: list(39, PodResourceClaim, "Devices the pod needs.").keyedBy("name").patch("merge,retainKeys"),
    resources: ref(40, ResourceRequirements, "What the pod as a whole needs and may use: cpu, memory and huge pages."),
    hostnameOverride: string(41, "Host name inside the pod, without any effect on DNS.").pointer(),
    schedulingGroup: ref(43, PodSchedulingGroup, "Pods that are scheduled together with this one.").off(
      "GenericWorkload",
    ),
  },
  {
    doc: "What a pod should be.",
    complete(spec): void {
      syncServiceAccount(spec);
      roundUpAmounts(spec.overhead);
    },
    problemOrder: `terminationGracePeriodSeconds volumes resourceClaims containers initContainers ephemeralContainers resources
      restartPolicy dnsPolicy nodeSelector hostNetwork hostPID hostIPC shareProcessNamespace hostUsers securityContext imagePullSecrets
      affinity dnsConfig readinessGates schedulingGates topologySpreadConstraints serviceAccountName nodeName activeDeadlineSeconds
      hostname subdomain tolerations hostAliases priorityClassName runtimeClassName preemptionPolicy overhead os`,
    check: (spec): Iterable<Problem> => checkPodSpec(spec),
    consequences: (spec, problems): Iterable<Problem> => mountsOfRefusedVolumes(spec, problems),
  },
);
export interface PodSpec extends Infer<typeof PodSpec> {}

export const PodTemplateSpec = struct(
  "core/v1.PodTemplateSpec",
  {
    metadata: ref(1, ObjectMeta, "Labels and annotations of the pods.").default({}),
    spec: ref(2, PodSpec, "What the pods should be.").default({}),
  },
  { doc: "What pods are made of.", check: (template): Iterable<Problem> => checkPodTemplate(template) },
);
export interface PodTemplateSpec extends Infer<typeof PodTemplateSpec> {}
