// Every kind the API serves by default. Adding one is its file and a line here.
import type { AnyKind } from "#schema/index.ts";
import { MutatingAdmissionPolicy } from "./admissionregistration/v1/mutating-admission-policy.ts";
import { MutatingAdmissionPolicyBinding } from "./admissionregistration/v1/mutating-admission-policy-binding.ts";
import { MutatingWebhookConfiguration } from "./admissionregistration/v1/mutating-webhook-configuration.ts";
import { ValidatingAdmissionPolicy } from "./admissionregistration/v1/validating-admission-policy.ts";
import { ValidatingAdmissionPolicyBinding } from "./admissionregistration/v1/validating-admission-policy-binding.ts";
import { ValidatingWebhookConfiguration } from "./admissionregistration/v1/validating-webhook-configuration.ts";
import { InitializerConfiguration } from "./admissionregistration/v1alpha1/initializer-configuration.ts";
import { CustomResourceDefinition } from "./apiextensions/v1/custom-resource-definition.ts";
import { APIService } from "./apiregistration/v1/api-service.ts";
import { ControllerRevision } from "./apps/v1/controller-revision.ts";
import { DaemonSet } from "./apps/v1/daemon-set.ts";
import { Deployment } from "./apps/v1/deployment.ts";
import { ReplicaSet } from "./apps/v1/replica-set.ts";
import { StatefulSet } from "./apps/v1/stateful-set.ts";
import { SelfSubjectReview } from "./authentication/v1/self-subject-review.ts";
import { TokenReview } from "./authentication/v1/token-review.ts";
import { LocalSubjectAccessReview } from "./authorization/v1/local-subject-access-review.ts";
import { SelfSubjectAccessReview } from "./authorization/v1/self-subject-access-review.ts";
import { SelfSubjectRulesReview } from "./authorization/v1/self-subject-rules-review.ts";
import { SubjectAccessReview } from "./authorization/v1/subject-access-review.ts";
import { HorizontalPodAutoscaler as HorizontalPodAutoscalerV1 } from "./autoscaling/v1/horizontal-pod-autoscaler.ts";
import { HorizontalPodAutoscaler } from "./autoscaling/v2/horizontal-pod-autoscaler.ts";
import { CronJob } from "./batch/v1/cron-job.ts";
import { Job } from "./batch/v1/job.ts";
import { CertificateSigningRequest } from "./certificates/v1/certificate-signing-request.ts";
import { ClusterTrustBundle } from "./certificates/v1beta1/cluster-trust-bundle.ts";
import { Lease } from "./coordination/v1/lease.ts";
import { Binding } from "./core/v1/binding.ts";
import { ComponentStatus } from "./core/v1/component-status.ts";
import { ConfigMap } from "./core/v1/config-map.ts";
import { Endpoints } from "./core/v1/endpoints.ts";
import { Event } from "./core/v1/event.ts";
import { LimitRange } from "./core/v1/limit-range.ts";
import { Namespace } from "./core/v1/namespace.ts";
import { Node } from "./core/v1/node.ts";
import { PersistentVolume } from "./core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "./core/v1/persistent-volume-claim.ts";
import { Pod } from "./core/v1/pod.ts";
import { PodTemplate } from "./core/v1/pod-template.ts";
import { ReplicationController } from "./core/v1/replication-controller.ts";
import { ResourceQuota } from "./core/v1/resource-quota.ts";
import { Secret } from "./core/v1/secret.ts";
import { Service } from "./core/v1/service.ts";
import { ServiceAccount } from "./core/v1/service-account.ts";
import { EndpointSlice } from "./discovery/v1/endpoint-slice.ts";
import { Event as EventsV1Event } from "./events/v1/event.ts";
import { FlowSchema } from "./flowcontrol/v1/flow-schema.ts";
import { PriorityLevelConfiguration } from "./flowcontrol/v1/priority-level-configuration.ts";
import { Ingress } from "./networking/v1/ingress.ts";
import { IngressClass } from "./networking/v1/ingress-class.ts";
import { IPAddress } from "./networking/v1/ip-address.ts";
import { NetworkPolicy } from "./networking/v1/network-policy.ts";
import { ServiceCIDR } from "./networking/v1/service-cidr.ts";
import { RuntimeClass } from "./node/v1/runtime-class.ts";
import { PodDisruptionBudget } from "./policy/v1/pod-disruption-budget.ts";
import { ClusterRole } from "./rbac/v1/cluster-role.ts";
import { ClusterRoleBinding } from "./rbac/v1/cluster-role-binding.ts";
import { Role } from "./rbac/v1/role.ts";
import { RoleBinding } from "./rbac/v1/role-binding.ts";
import { DeviceClass } from "./resource/v1/device-class.ts";
import { ResourceClaim } from "./resource/v1/resource-claim.ts";
import { ResourceClaimTemplate } from "./resource/v1/resource-claim-template.ts";
import { ResourceSlice } from "./resource/v1/resource-slice.ts";
import { PriorityClass } from "./scheduling/v1/priority-class.ts";
import { CSIDriver } from "./storage/v1/csi-driver.ts";
import { CSINode } from "./storage/v1/csi-node.ts";
import { CSIStorageCapacity } from "./storage/v1/csi-storage-capacity.ts";
import { StorageClass } from "./storage/v1/storage-class.ts";
import { VolumeAttachment } from "./storage/v1/volume-attachment.ts";
import { VolumeAttributesClass } from "./storage/v1/volume-attributes-class.ts";

export const catalog: readonly AnyKind[] = [
  Binding,
  ComponentStatus,
  ConfigMap,
  Endpoints,
  Event,
  LimitRange,
  Namespace,
  Node,
  PersistentVolumeClaim,
  PersistentVolume,
  Pod,
  PodTemplate,
  ReplicationController,
  ResourceQuota,
  Secret,
  ServiceAccount,
  Service,
  APIService,
  ControllerRevision,
  DaemonSet,
  Deployment,
  ReplicaSet,
  StatefulSet,
  EventsV1Event,
  SelfSubjectReview,
  TokenReview,
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  HorizontalPodAutoscalerV1,
  HorizontalPodAutoscaler,
  CronJob,
  Job,
  CertificateSigningRequest,
  IngressClass,
  Ingress,
  IPAddress,
  NetworkPolicy,
  ServiceCIDR,
  PodDisruptionBudget,
  ClusterRoleBinding,
  ClusterRole,
  RoleBinding,
  Role,
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
  CustomResourceDefinition,
  PriorityClass,
  Lease,
  RuntimeClass,
  EndpointSlice,
  DeviceClass,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
  FlowSchema,
  PriorityLevelConfiguration,
];

/** Kinds that are only served where they are asked for. */
export const onRequest: readonly AnyKind[] = [ClusterTrustBundle, InitializerConfiguration];
