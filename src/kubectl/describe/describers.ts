// Which describer is whose.
import type { RestMapping } from "../discovery/rest-mapper.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Describer } from "./describer.ts";
import { describeAny } from "./generic.ts";

// biome-ignore lint/suspicious/noExplicitAny: each takes objects of its own kind
type Loader = () => Promise<Describer<any>>;

/** By kind and group. Kinds that are not here are described field by field. */
const describers: Readonly<Record<string, Loader>> = {
  Pod: async () => (await import("./kinds/pod.ts")).describePod,
  ReplicationController: async () => (await import("./kinds/replication-controller.ts")).describeReplicationController,
  Secret: async () => (await import("./kinds/secret.ts")).describeSecret,
  Service: async () => (await import("./kinds/service.ts")).describeService,
  ServiceAccount: async () => (await import("./kinds/service-account.ts")).describeServiceAccount,
  Node: async () => (await import("./kinds/node.ts")).describeNode,
  LimitRange: async () => (await import("./kinds/quota.ts")).describeLimitRange,
  ResourceQuota: async () => (await import("./kinds/quota.ts")).describeResourceQuota,
  PersistentVolumeClaim: async () => (await import("./kinds/persistent-volume-claim.ts")).describePersistentVolumeClaim,
  Namespace: async () => (await import("./kinds/namespace.ts")).describeNamespace,
  ConfigMap: async () => (await import("./kinds/config-map.ts")).describeConfigMap,
  PersistentVolume: async () => (await import("./kinds/storage.ts")).describePersistentVolume,
  Endpoints: async () => (await import("./kinds/network.ts")).describeEndpoints,
  "EndpointSlice.discovery.k8s.io": async () => (await import("./kinds/network.ts")).describeEndpointSlice,
  "HorizontalPodAutoscaler.autoscaling": async () => (await import("./kinds/scaling.ts")).describeAutoscaler,
  "IngressClass.networking.k8s.io": async () => (await import("./kinds/network.ts")).describeIngressClass,
  "ServiceCIDR.networking.k8s.io": async () => (await import("./kinds/network.ts")).describeServiceCIDR,
  "IPAddress.networking.k8s.io": async () => (await import("./kinds/network.ts")).describeIPAddress,
  "NetworkPolicy.networking.k8s.io": async () => (await import("./kinds/network.ts")).describeNetworkPolicy,
  "CertificateSigningRequest.certificates.k8s.io": async () =>
    (await import("./kinds/certificate-request.ts")).describeCertificateRequest,
  "StorageClass.storage.k8s.io": async () => (await import("./kinds/storage.ts")).describeStorageClass,
  "CSINode.storage.k8s.io": async () => (await import("./kinds/storage.ts")).describeCSINode,
  "VolumeAttributesClass.storage.k8s.io": async () =>
    (await import("./kinds/storage.ts")).describeVolumeAttributesClass,
  "PodDisruptionBudget.policy": async () => (await import("./kinds/scaling.ts")).describeDisruptionBudget,
  "PriorityClass.scheduling.k8s.io": async () => (await import("./kinds/scaling.ts")).describePriorityClass,
  "Ingress.networking.k8s.io": async () => (await import("./kinds/ingress.ts")).describeIngress,
  "Job.batch": async () => (await import("./kinds/job.ts")).describeJob,
  "CronJob.batch": async () => (await import("./kinds/cron-job.ts")).describeCronJob,
  "StatefulSet.apps": async () => (await import("./kinds/stateful-set.ts")).describeStatefulSet,
  "Deployment.apps": async () => (await import("./kinds/deployment.ts")).describeDeployment,
  "DaemonSet.apps": async () => (await import("./kinds/daemon-set.ts")).describeDaemonSet,
  "ReplicaSet.apps": async () => (await import("./kinds/replica-set.ts")).describeReplicaSet,
  "Role.rbac.authorization.k8s.io": async () => (await import("./kinds/rbac.ts")).describeRole,
  "ClusterRole.rbac.authorization.k8s.io": async () => (await import("./kinds/rbac.ts")).describeRole,
  "RoleBinding.rbac.authorization.k8s.io": async () => (await import("./kinds/rbac.ts")).describeBinding,
  "ClusterRoleBinding.rbac.authorization.k8s.io": async () => (await import("./kinds/rbac.ts")).describeBinding,
};

/** The describer of a kind, and a general one for all others. */
export async function describerFor({ kind, group }: RestMapping): Promise<Describer<KubeObject>> {
  const key = group === "" ? kind : `${kind}.${group}`;
  return Object.hasOwn(describers, key) ? ((await describers[key]?.()) ?? describeAny) : describeAny;
}
