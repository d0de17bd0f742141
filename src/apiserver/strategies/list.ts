// What is special about storing each kind, by group and plural. A kind that is not here follows the common rules: created only
// by create, updated without naming a resourceVersion, status reset on create, no count of generations, removed at once.
import type { AnyKind } from "#schema/kind.ts";
import type { Strategy } from "../registry/strategy.ts";
import { staticNameWarnings } from "../warnings/admission.ts";
import { ingressStatusWarnings, ingressWarnings, networkPolicyWarnings } from "../warnings/networking.ts";
import { runtimeClassWarnings } from "../warnings/node-labels.ts";
import { deviceSliceWarnings } from "../warnings/resource.ts";
import { secretWarnings } from "../warnings/secret.ts";
import {
  capacityWarnings,
  claimWarnings,
  driverWarnings,
  persistentVolumeWarnings,
  storageClassWarnings,
} from "../warnings/storage.ts";
import {
  cronJobWarnings,
  jobWarnings,
  namedWorkloadWarnings,
  podTemplateWarnings,
  serviceAccountWarnings,
  statefulSetWarnings,
  workloadWarnings,
} from "../warnings/workloads.ts";
import { certificateSigningRequest } from "./certificate-signing-request.ts";
import { customResourceDefinition } from "./custom-resource-definition.ts";
import { daemonSet } from "./daemon-set.ts";
import { endpointSlice } from "./endpoint-slice.ts";
import { job } from "./job.ts";
import { namespace } from "./namespace.ts";
import { node } from "./node.ts";
import { persistentVolume } from "./persistent-volume.ts";
import { persistentVolumeClaim } from "./persistent-volume-claim.ts";
import { pod } from "./pod.ts";
import { service } from "./service.ts";

const counted: Strategy = { countsGenerations: true };
const createdByUpdate: Strategy = { createOnUpdate: true };
const versioned: Strategy = { needsResourceVersion: true };
const countedAndVersioned: Strategy = { ...counted, ...versioned };
/** Through `status` nothing else changes, as it should be everywhere. */
const statusAlone: Strategy = { statusKeeps: ["metadata"] };
/** A busy cluster has tens of thousands, and hardly anyone reads them. */
const event: Strategy = { createOnUpdate: true, ttlSeconds: 3600, keepsObjects: false };

const admissionPlan: Strategy = { ...countedAndVersioned, ...warnsOf(staticNameWarnings) };

/** The warnings of a kind, written for its type. */
function warnsOf<O>(warnings: (object: O, old: O | undefined) => Iterable<string>): Strategy {
  return { warnings: (object, old) => warnings(object as O, old as O | undefined) };
}

function warnsOfStatus<O>(warnings: (object: O) => Iterable<string>): Strategy {
  return { statusWarnings: (object) => warnings(object as O) };
}

const strategies: Readonly<Record<string, Strategy>> = {
  "admissionregistration.k8s.io/mutatingadmissionpolicies": admissionPlan,
  "admissionregistration.k8s.io/mutatingadmissionpolicybindings": admissionPlan,
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": admissionPlan,
  "admissionregistration.k8s.io/validatingadmissionpolicies": { ...admissionPlan, ...statusAlone },
  "admissionregistration.k8s.io/validatingadmissionpolicybindings": admissionPlan,
  "admissionregistration.k8s.io/validatingwebhookconfigurations": admissionPlan,
  "apiextensions.k8s.io/customresourcedefinitions": customResourceDefinition,
  "apiregistration.k8s.io/apiservices": { ...versioned, ...statusAlone },
  "apps/daemonsets": { ...daemonSet, ...warnsOf(workloadWarnings) },
  // A rollback is written into annotations, so their change counts as well.
  "apps/deployments": {
    ...counted,
    ...warnsOf(namedWorkloadWarnings),
    statusKeeps: ["metadata.labels"],
    wanted: ({ spec, metadata }) => [spec, metadata.annotations],
  },
  "apps/replicasets": { ...counted, ...warnsOf(namedWorkloadWarnings) },
  "apps/statefulsets": { ...counted, ...warnsOf(statefulSetWarnings) },
  "batch/cronjobs": { ...counted, ...warnsOf(cronJobWarnings) },
  "batch/jobs": { ...job, ...warnsOf(jobWarnings) },
  "certificates.k8s.io/certificatesigningrequests": certificateSigningRequest,
  "coordination.k8s.io/leases": { ...createdByUpdate, ...versioned },
  "discovery.k8s.io/endpointslices": endpointSlice,
  "events.k8s.io/events": event,
  "flowcontrol.apiserver.k8s.io/flowschemas": { ...counted, ...statusAlone },
  "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations": { ...counted, ...statusAlone },
  "networking.k8s.io/ingressclasses": counted,
  "networking.k8s.io/ingresses": { ...counted, ...warnsOf(ingressWarnings), ...warnsOfStatus(ingressStatusWarnings) },
  "networking.k8s.io/networkpolicies": { ...counted, ...warnsOf(networkPolicyWarnings) },
  "networking.k8s.io/servicecidrs": statusAlone,
  "node.k8s.io/runtimeclasses": { ...createdByUpdate, ...versioned, ...warnsOf(runtimeClassWarnings) },
  "policy/poddisruptionbudgets": countedAndVersioned,
  "rbac.authorization.k8s.io/clusterrolebindings": createdByUpdate,
  "rbac.authorization.k8s.io/clusterroles": createdByUpdate,
  "rbac.authorization.k8s.io/rolebindings": createdByUpdate,
  "rbac.authorization.k8s.io/roles": createdByUpdate,
  "resource.k8s.io/deviceclasses": counted,
  "resource.k8s.io/resourceclaims": statusAlone,
  "resource.k8s.io/resourceslices": { ...counted, ...warnsOf(deviceSliceWarnings) },
  // The only generation there is: what a class means never changes.
  "scheduling.k8s.io/priorityclasses": { ...counted, wanted: () => undefined },
  // Generations are counted from the first change on.
  "storage.k8s.io/csidrivers": {
    ...countedAndVersioned,
    ...warnsOf(driverWarnings),
    prepareForCreate({ metadata }) {
      delete metadata.generation;
    },
  },
  "storage.k8s.io/csinodes": versioned,
  "storage.k8s.io/csistoragecapacities": { ...versioned, ...warnsOf(capacityWarnings) },
  "storage.k8s.io/storageclasses": warnsOf(storageClassWarnings),
  "storage.k8s.io/volumeattachments": { ...versioned, ...statusAlone },
  "/endpoints": createdByUpdate,
  "/events": event,
  "/limitranges": {
    ...createdByUpdate,
    prepareForCreate({ metadata }, { random }) {
      metadata.name ||= random.uuid();
    },
  },
  "/namespaces": namespace,
  "/nodes": node,
  "/persistentvolumeclaims": { ...persistentVolumeClaim, ...warnsOf(claimWarnings) },
  "/persistentvolumes": { ...persistentVolume, ...warnsOf(persistentVolumeWarnings) },
  "/pods": pod,
  "/podtemplates": { ...counted, ...warnsOf(podTemplateWarnings) },
  "/replicationcontrollers": { ...counted, ...warnsOf(namedWorkloadWarnings), orphansDependents: true },
  "/secrets": {
    ...warnsOf(secretWarnings),
    prepareForUpdate(object, old) {
      object.type ||= old.type;
    },
  },
  "/serviceaccounts": warnsOf(serviceAccountWarnings),
  "/services": service,
};

export const strategyOf = ({ group, plural }: AnyKind): Strategy => strategies[`${group}/${plural}`] ?? {};
