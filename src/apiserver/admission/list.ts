// All admission plugins in upstream's order, which is the order they run in. Those that are missing have their places:
//
//   PodGroupProtection, PodGroupWorkloadExists, JobValidation   behind gates that are off
//
// Webhooks and policies are directly before ResourceQuota, since quota charges for what they made of the object.
import { alwaysAdmit, alwaysDeny } from "./always.ts";
import { alwaysPullImages } from "./always-pull-images.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  clusterTrustBundleAttest,
} from "./certificates.ts";
import type { AdmissionConfiguration } from "./configuration.ts";
import { defaultIngressClass } from "./default-ingress-class.ts";
import { defaultStorageClass } from "./default-storage-class.ts";
import { defaultTolerationSeconds } from "./default-toleration-seconds.ts";
import { denyServiceExternalIps } from "./deny-service-external-ips.ts";
import { eventRateLimit } from "./event-rate-limit.ts";
import { extendedResourceToleration } from "./extended-resource-toleration.ts";
import { imagePolicyWebhook } from "./image-policy.ts";
import { initialResources } from "./initial-resources/initial-resources.ts";
import { initializers } from "./initializers.ts";
import { limitPodHardAntiAffinityTopology } from "./limit-pod-hard-anti-affinity-topology.ts";
import { limitRanger } from "./limit-ranger.ts";
import { namespaceAutoProvision } from "./namespace-auto-provision.ts";
import { namespaceExists } from "./namespace-exists.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { nodeDeclaredFeatureValidator } from "./node-declared-features.ts";
import { nodeRestriction } from "./node-restriction.ts";
import { ownerReferencesPermissionEnforcement } from "./owner-references-permission-enforcement.ts";
import { persistentVolumeClaimResize } from "./persistent-volume-claim-resize.ts";
import type { AdmissionPlugin } from "./plugin.ts";
import { podNodeSelector } from "./pod-node-selector.ts";
import { podResizeValidator } from "./pod-resize-validator.ts";
import { podSecurity } from "./pod-security/pod-security.ts";
import { podTolerationRestriction } from "./pod-toleration-restriction.ts";
import { podTopologyLabels } from "./pod-topology-labels.ts";
import { mutatingAdmissionPolicy } from "./policy/mutating.ts";
import { validatingAdmissionPolicy } from "./policy/validating.ts";
import { priority } from "./priority.ts";
import { resourceQuota } from "./quota/resource-quota.ts";
import { runtimeClass } from "./runtime-class.ts";
import { securityContextDeny } from "./security-context-deny.ts";
import { serviceAccount } from "./service-account.ts";
import { storageObjectInUseProtection } from "./storage-object-in-use-protection.ts";
import { taintNodesByCondition } from "./taint-nodes-by-condition.ts";
import { mutatingAdmissionWebhook } from "./webhook/mutating.ts";
import { validatingAdmissionWebhook } from "./webhook/validating.ts";

interface ListedPlugin {
  readonly name: string;
  readonly on: boolean;
  make(configuration: AdmissionConfiguration): AdmissionPlugin;
}

const on = (plugin: AdmissionPlugin): ListedPlugin => ({ name: plugin.name, on: true, make: () => plugin });
const off = (plugin: AdmissionPlugin): ListedPlugin => ({ name: plugin.name, on: false, make: () => plugin });

export const allPlugins: readonly ListedPlugin[] = [
  off(alwaysAdmit),
  off(namespaceAutoProvision),
  { name: "NamespaceLifecycle", on: true, make: namespaceLifecycle },
  off(namespaceExists),
  off(limitPodHardAntiAffinityTopology),
  // Before LimitRanger, whose defaults leave nothing to estimate.
  {
    name: "InitialResources",
    on: false,
    make: ({ initialResources: given }) => initialResources(given),
  },
  on(limitRanger),
  on(serviceAccount),
  off(nodeRestriction),
  on(taintNodesByCondition),
  off(alwaysPullImages),
  { name: "ImagePolicyWebhook", on: false, make: ({ imagePolicy }) => imagePolicyWebhook(imagePolicy) },
  off(securityContextDeny),
  { name: "PodSecurity", on: true, make: ({ podSecurity: given }) => podSecurity(given) },
  { name: "PodNodeSelector", on: false, make: ({ podNodeSelector: given }) => podNodeSelector(given) },
  on(priority),
  {
    name: "DefaultTolerationSeconds",
    on: true,
    make: ({ tolerationSeconds }) => defaultTolerationSeconds(tolerationSeconds),
  },
  {
    name: "PodTolerationRestriction",
    on: false,
    make: ({ podTolerations }) => podTolerationRestriction(podTolerations),
  },
  { name: "EventRateLimit", on: false, make: ({ eventLimits }) => eventRateLimit(eventLimits) },
  off(extendedResourceToleration),
  on(defaultStorageClass),
  on(storageObjectInUseProtection),
  off(ownerReferencesPermissionEnforcement),
  on(persistentVolumeClaimResize),
  on(runtimeClass),
  on(certificateApproval),
  on(certificateSigning),
  on(clusterTrustBundleAttest),
  on(certificateSubjectRestriction),
  on(defaultIngressClass),
  off(denyServiceExternalIps),
  on(podTopologyLabels),
  on(nodeDeclaredFeatureValidator),
  on(podResizeValidator),
  on(mutatingAdmissionPolicy()),
  {
    name: "MutatingAdmissionWebhook",
    on: true,
    make: ({ mutatingWebhookCredentials: given }) => mutatingAdmissionWebhook(given),
  },
  off(initializers),
  on(validatingAdmissionPolicy()),
  {
    name: "ValidatingAdmissionWebhook",
    on: true,
    make: ({ validatingWebhookCredentials: given }) => validatingAdmissionWebhook(given),
  },
  { name: "ResourceQuota", on: true, make: ({ resourceQuota: given }) => resourceQuota(given) },
  off(alwaysDeny),
];
