// What is special about storing each kind, by group and plural. A kind that is not here follows the common rules: created only
// by create, updated without naming a resourceVersion, status reset on create, no count of generations, removed at once.
import type { AnyKind } from "#schema/kind.ts";
import type { Strategy } from "../registry/strategy.ts";
import { certificateSigningRequest } from "./certificate-signing-request.ts";
import { daemonSet } from "./daemon-set.ts";
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
const event: Strategy = { createOnUpdate: true, ttlSeconds: 3600 };

const strategies: Readonly<Record<string, Strategy>> = {
  "admissionregistration.k8s.io/mutatingadmissionpolicies": countedAndVersioned,
  "admissionregistration.k8s.io/mutatingadmissionpolicybindings": countedAndVersioned,
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": countedAndVersioned,
  "admissionregistration.k8s.io/validatingadmissionpolicies": countedAndVersioned,
  "admissionregistration.k8s.io/validatingadmissionpolicybindings": countedAndVersioned,
  "admissionregistration.k8s.io/validatingwebhookconfigurations": countedAndVersioned,
  "apiextensions.k8s.io/customresourcedefinitions": countedAndVersioned,
  "apiregistration.k8s.io/apiservices": versioned,
  "apps/daemonsets": daemonSet,
  // A rollback is written into annotations, so their change counts as well.
  "apps/deployments": { ...counted, wanted: ({ spec, metadata }) => [spec, metadata.annotations] },
  "apps/replicasets": counted,
  "apps/statefulsets": counted,
  "batch/cronjobs": counted,
  "batch/jobs": job,
  "certificates.k8s.io/certificatesigningrequests": certificateSigningRequest,
  "coordination.k8s.io/leases": { ...createdByUpdate, ...versioned },
  "discovery.k8s.io/endpointslices": { ...counted, wanted: ({ metadata, ...rest }) => [rest, metadata.labels] },
  "events.k8s.io/events": event,
  "flowcontrol.apiserver.k8s.io/flowschemas": counted,
  "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations": counted,
  "networking.k8s.io/ingressclasses": counted,
  "networking.k8s.io/ingresses": counted,
  "networking.k8s.io/networkpolicies": counted,
  "node.k8s.io/runtimeclasses": { ...createdByUpdate, ...versioned },
  "policy/poddisruptionbudgets": countedAndVersioned,
  "rbac.authorization.k8s.io/clusterrolebindings": createdByUpdate,
  "rbac.authorization.k8s.io/clusterroles": createdByUpdate,
  "rbac.authorization.k8s.io/rolebindings": createdByUpdate,
  "rbac.authorization.k8s.io/roles": createdByUpdate,
  "resource.k8s.io/deviceclasses": counted,
  "resource.k8s.io/resourceslices": counted,
  // The only generation there is: what a class means never changes.
  "scheduling.k8s.io/priorityclasses": { ...counted, wanted: () => undefined },
  // Generations are counted from the first change on.
  "storage.k8s.io/csidrivers": {
    ...countedAndVersioned,
    prepareForCreate({ metadata }) {
      delete metadata.generation;
    },
  },
  "storage.k8s.io/csinodes": versioned,
  "storage.k8s.io/csistoragecapacities": versioned,
  "storage.k8s.io/volumeattachments": versioned,
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
  "/persistentvolumeclaims": persistentVolumeClaim,
  "/persistentvolumes": persistentVolume,
  "/pods": pod,
  "/podtemplates": counted,
  "/replicationcontrollers": { ...counted, orphansDependents: true },
  "/secrets": {
    prepareForUpdate(object, old) {
      object.type ||= old.type;
    },
  },
  "/services": service,
};

export const strategyOf = ({ group, plural }: AnyKind): Strategy => strategies[`${group}/${plural}`] ?? {};
