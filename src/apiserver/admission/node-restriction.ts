// A node writes about itself and its own pods, and nothing else. Authorization sees who writes what; this sees what is written.
// Upstream: plugin/pkg/admission/noderestriction/admission.go.

import { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import { CsrError, csrSubject } from "#api/certificates/v1/request.ts";
import { Lease } from "#api/coordination/v1/lease.ts";
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import { CSINode } from "#api/storage/v1/csi-node.ts";
import { equal } from "#base/collections.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { notFound } from "#wire/status.ts";
import { nodeOf } from "../authorization/node/authorizer.ts";
import { forbiddenLabels, outsideReference } from "./node-restriction-rules.ts";
import { tokenRefusal } from "./node-restriction-tokens.ts";
import { type AdmissionRefusal, type AdmissionRequest, admissionPlugin } from "./plugin.ts";

type NodeAsked = AdmissionRequest<ApiObject | undefined, ApiObject | undefined>;
type Judge = (node: string, asked: NodeAsked) => AdmissionRefusal | Promise<AdmissionRefusal>;

const q = (text: string): string => JSON.stringify(text);
/** Operations as upstream writes them. */
const upper = ({ operation }: NodeAsked): string => operation.toUpperCase();

export const nodeRestriction = admissionPlugin({
  name: "NodeRestriction",
  on: { verbs: ["create", "update", "delete"], through: ["*"] },
  async mutate(asked) {
    const node = nodeOf(asked.user);
    if (node === undefined) return undefined;
    if (node === "") return `could not determine node from user ${q(asked.user.name)}`;
    return judges.get(asked.kind)?.(node, asked);
  },
});

const pods: Judge = (node, asked) => {
  switch (asked.subresource) {
    case "":
      return ownPod(node, asked);
    case "status":
      return podStatus(node, asked);
    case "eviction":
      return eviction(node, asked);
    default:
      return `unexpected pod subresource ${q(asked.subresource)}, only 'status' and 'eviction' are allowed`;
  }
};

function ownPod(node: string, asked: NodeAsked): AdmissionRefusal {
  const { operation, object, old, server } = asked;
  if (operation === "delete")
    return old?.spec.nodeName === node
      ? undefined
      : `node ${q(node)} can only delete pods with spec.nodeName set to itself`;
  if (operation !== "create" || !object)
    return `unexpected operation ${q(upper(asked))}, node ${q(node)} can only create and delete mirror pods`;
  if (object.metadata.annotations?.["kubernetes.io/config.mirror"] === undefined)
    return `pod does not have "kubernetes.io/config.mirror" annotation, node ${q(node)} can only create mirror pods`;
  const only = `node ${q(node)} can only create pods with`;
  if (object.spec.nodeName !== node) return `${only} spec.nodeName set to itself`;
  const [owner, ...others] = object.metadata.ownerReferences ?? [];
  if (others.length > 0) return `${only} a single owner reference set to itself`;
  if (owner?.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== node)
    return `${only} an owner reference set to itself`;
  if (!owner.controller) return `${only} a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion) return `node ${q(node)} must not set blockOwnerDeletion on an owner reference`;
  const itself = server.get(Node, node);
  if (!itself) throw notFound({ group: "", resource: "nodes" }, node);
  if (owner.uid !== itself.metadata.uid)
    return `node ${node} UID mismatch: expected ${owner.uid} got ${itself.metadata.uid}`;
  const outside = outsideReference(object.spec);
  return outside && `node ${q(node)} can not create pods that reference ${outside}`;
}

function podStatus(node: string, asked: NodeAsked): AdmissionRefusal {
  const { operation, object, old } = asked;
  if (operation !== "update" || !object || !old) return `unexpected operation ${q(upper(asked))}`;
  if (old.spec.nodeName !== node)
    return `node ${q(node)} can only update pod status for pods with spec.nodeName set to itself`;
  if (!equal(object.metadata.labels ?? {}, old.metadata.labels ?? {}))
    return `node ${q(node)} cannot update labels through pod status`;
  if (!equal(object.status?.resourceClaimStatuses ?? [], old.status?.resourceClaimStatuses ?? []))
    return `node ${q(node)} cannot update resource claim statues`;
  if (!equal(object.status?.extendedResourceClaimStatus, old.status?.extendedResourceClaimStatus))
    return `node ${q(node)} cannot update extended resource claim status`;
  return undefined;
}

/** An eviction comes as what is sent; the deletion that follows from it has been judged with it. */
function eviction(node: string, asked: NodeAsked): AdmissionRefusal {
  const { operation, object, name, namespace, server } = asked;
  if (operation === "delete") return undefined;
  if (operation !== "create") return `unexpected operation ${upper(asked)}`;
  const podName = name || object?.metadata.name;
  if (!podName) return "could not determine pod from request data";
  const pod = server.get(Pod, podName, namespace);
  if (!pod) throw notFound({ group: "", resource: "pods" }, podName);
  return pod.spec.nodeName === node ? undefined : `node ${node} can only evict pods with spec.nodeName set to itself`;
}

const nodes: Judge = (node, { operation, object, old, name }) => {
  const asked = name || object?.metadata.name || "";
  if (asked !== node) return `node ${q(node)} is not allowed to modify node ${q(asked)}`;
  if (!object) return undefined;
  const labels = forbiddenLabels(object.metadata.labels, old?.metadata.labels).join(", ");
  const config = object.spec?.configSource;
  if (operation === "create") {
    if (config) return `node ${q(node)} is not allowed to create pods with a non-nil configSource`;
    return labels === "" ? undefined : `node ${q(node)} is not allowed to set the following labels: ${labels}`;
  }
  if (config && !equal(config, old?.spec?.configSource))
    return `node ${q(node)} is not allowed to update configSource to a new non-nil configSource`;
  if (!equal(object.spec?.taints ?? [], old?.spec?.taints ?? []))
    return `node ${q(node)} is not allowed to modify taints`;
  if (!equal(object.metadata.ownerReferences ?? [], old?.metadata.ownerReferences ?? []))
    return `node ${q(node)} is not allowed to modify ownerReferences`;
  return labels === "" ? undefined : `is not allowed to modify labels: ${labels}`;
};

const claims: Judge = (node, asked) => {
  const { operation, object, old, subresource } = asked;
  if (subresource !== "status") return "may only update PVC status";
  if (operation !== "update" || !object || !old) return `unexpected operation ${q(upper(asked))}`;
  const fixed = ({ metadata, status, ...rest }: ApiObject) => {
    const { resourceVersion: _version, managedFields: _fields, ...meta } = metadata;
    const {
      capacity: _c,
      conditions: _d,
      allocatedResources: _a,
      allocatedResourceStatuses: _s,
      ...others
    } = status ?? {};
    return { ...rest, metadata: meta, status: others };
  };
  const [before, after]: [Record<string, unknown>, Record<string, unknown>] = [fixed(old), fixed(object)];
  const changed = Object.keys({ ...before, ...after }).filter((field) => !equal(before[field], after[field]));
  return changed.length === 0
    ? undefined
    : `node ${q(node)} is not allowed to update fields other than status.quantity and status.conditions: ${changed.join(", ")}`;
};

const nodeLeases = "kube-node-lease";
const leases: Judge = (node, asked) => {
  if (asked.namespace !== nodeLeases) return `can only access leases in the ${q(nodeLeases)} system namespace`;
  return ownNamed(asked) === node ? undefined : "can only access node lease with the same name as the requesting node";
};

const csiNodes: Judge = (node, asked) =>
  ownNamed(asked) === node ? undefined : "can only access CSINode with the same name as the requesting node";

const ownNamed = ({ operation, object, name }: NodeAsked): string | undefined =>
  operation === "create" ? object?.metadata.name : name;

const slices: Judge = (node, { operation, object, old }) => {
  const slice = operation === "create" ? object : operation === "delete" ? old : undefined;
  return !slice || slice.spec.nodeName === node
    ? undefined
    : `can only ${operation} ResourceSlice with the same NodeName as the requesting node`;
};

const nodeSigners = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];
const requests: Judge = (node, { operation, object, subresource }) => {
  if (operation !== "create" || subresource !== "" || !nodeSigners.includes(object?.spec.signerName)) return undefined;
  try {
    const isOwn = csrSubject(object?.spec.request).commonName === `system:node:${node}`;
    return isOwn ? undefined : `can only create a node CSR with CN=system:node:${node}`;
  } catch (error) {
    if (!(error instanceof CsrError)) throw error;
    return `unable to parse csr: ${error.message}`;
  }
};

const judges: ReadonlyMap<AnyKind, Judge> = new Map<AnyKind, Judge>([
  [Pod, pods],
  [Node, nodes],
  [PersistentVolumeClaim, claims],
  [ServiceAccount, tokenRefusal],
  [Lease, leases],
  [CSINode, csiNodes],
  [ResourceSlice, slices],
  [CertificateSigningRequest, requests],
]);
