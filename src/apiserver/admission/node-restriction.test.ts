import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import { csrWith } from "#api/certificates/v1/testing.ts";
import { Lease } from "#api/coordination/v1/lease.ts";
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import { CSINode } from "#api/storage/v1/csi-node.ts";
import type { AnyKind } from "#schema/kind.ts";
import { nodeRestriction } from "./node-restriction.ts";
import { AdmissionWorld, podWith, type TestRequest } from "./testing.ts";

const user = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };

function worldOfNodes(): AdmissionWorld {
  const world = new AdmissionWorld();
  for (const name of ["n1", "n2"]) world.have(Node, { metadata: { name, uid: `uid-of-${name}` } });
  world.have(
    Pod,
    podWith(
      {
        nodeName: "n1",
        volumes: [{ name: "t", projected: { sources: [{ serviceAccountToken: { path: "t", audience: "vault" } }] } }],
      },
      { name: "mine", uid: "u1" },
    ) as never,
  );
  world.have(Pod, podWith({ nodeName: "n2" }, { name: "other", uid: "u2" }) as never);
  return world;
}

const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "uid-of-n1", controller: true };
const mirror = (spec: object = {}, ...ownerReferences: readonly object[]) =>
  podWith(
    { nodeName: "n1", ...spec },
    {
      annotations: { "kubernetes.io/config.mirror": "x" },
      ownerReferences: ownerReferences.length ? ownerReferences : [owner],
    },
  );
const node = (metadata: object = {}, spec: object = {}) => ({ metadata: { name: "n1", ...metadata }, spec });
const token = (boundObjectRef: object | undefined, audiences: readonly string[] = ["vault"]) => ({
  metadata: { name: "sa" },
  spec: { audiences, ...(boundObjectRef && { boundObjectRef }) },
});
const bound = { apiVersion: "v1", kind: "Pod", name: "mine", uid: "u1" };
const asToken: TestRequest = { subresource: "token", name: "sa" };
const claim = (status: object, spec: object = {}) => ({ metadata: { name: "c" }, spec, status });
const slice = (nodeName: string) => ({
  metadata: { name: "s" },
  spec: { nodeName, driver: "d", pool: { name: "p", resourceSliceCount: 1 } },
});

const cases: readonly (readonly [string, AnyKind, unknown, TestRequest, string])[] = [
  ["a mirror pod of its own", Pod, mirror(), {}, ""],
  [
    "a pod that is no mirror",
    Pod,
    podWith({ nodeName: "n1" }),
    {},
    'pods "p" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
  ],
  [
    "a mirror pod of another node",
    Pod,
    mirror({ nodeName: "n2" }),
    {},
    'pods "p" is forbidden: node "n1" can only create pods with spec.nodeName set to itself',
  ],
  [
    "a mirror pod with two owners",
    Pod,
    mirror({}, owner, owner),
    {},
    'pods "p" is forbidden: node "n1" can only create pods with a single owner reference set to itself',
  ],
  [
    "a mirror pod of another owner",
    Pod,
    mirror({}, { ...owner, name: "n2" }),
    {},
    'pods "p" is forbidden: node "n1" can only create pods with an owner reference set to itself',
  ],
  [
    "a mirror pod that it does not control",
    Pod,
    mirror({}, { ...owner, controller: false }),
    {},
    'pods "p" is forbidden: node "n1" can only create pods with a controller owner reference set to itself',
  ],
  [
    "a mirror pod of a former self",
    Pod,
    mirror({}, { ...owner, uid: "old" }),
    {},
    'pods "p" is forbidden: node n1 UID mismatch: expected old got uid-of-n1',
  ],
  [
    "a mirror pod with a secret",
    Pod,
    mirror({ volumes: [{ name: "v", secret: { secretName: "s" } }] }),
    {},
    'pods "p" is forbidden: node "n1" can not create pods that reference secrets',
  ],
  [
    "a mirror pod with a claim",
    Pod,
    mirror({ volumes: [{ name: "v", persistentVolumeClaim: { claimName: "s" } }] }),
    {},
    'pods "p" is forbidden: node "n1" can not create pods that reference persistentvolumeclaims',
  ],
  [
    "the update of a pod",
    Pod,
    podWith(),
    { old: podWith() },
    'pods "p" is forbidden: unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
  ],
  ["the deletion of its pod", Pod, undefined, { operation: "delete", old: podWith({ nodeName: "n1" }) }, ""],
  [
    "the deletion of another's pod",
    Pod,
    undefined,
    { operation: "delete", old: podWith({ nodeName: "n2" }) },
    'pods "p" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself',
  ],
  [
    "the status of its pod",
    Pod,
    podWith({ nodeName: "n1" }),
    { old: podWith({ nodeName: "n1" }), subresource: "status" },
    "",
  ],
  [
    "the status of another's pod",
    Pod,
    podWith({ nodeName: "n2" }),
    { old: podWith({ nodeName: "n2" }), subresource: "status" },
    'pods "p" is forbidden: node "n1" can only update pod status for pods with spec.nodeName set to itself',
  ],
  [
    "labels through the status",
    Pod,
    podWith({ nodeName: "n1" }, { labels: { a: "b" } }),
    { old: podWith({ nodeName: "n1" }), subresource: "status" },
    'pods "p" is forbidden: node "n1" cannot update labels through pod status',
  ],
  ["an eviction of its pod", Pod, { metadata: { name: "mine" } }, { subresource: "eviction", name: "mine" }, ""],
  [
    "an eviction of another's pod",
    Pod,
    { metadata: { name: "other" } },
    { subresource: "eviction", name: "other" },
    'pods "other" is forbidden: node n1 can only evict pods with spec.nodeName set to itself',
  ],
  [
    "a binding",
    Pod,
    { metadata: { name: "p" }, target: { name: "n1" } },
    { subresource: "binding", name: "p" },
    `pods "p" is forbidden: unexpected pod subresource "binding", only 'status' and 'eviction' are allowed`,
  ],
  ["itself", Node, node(), {}, ""],
  [
    "another node",
    Node,
    { metadata: { name: "n2" } },
    {},
    'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"',
  ],
  [
    "itself with labels of a kubelet",
    Node,
    node({ labels: { "kubernetes.io/os": "linux", "example.com/x": "y", "node.kubernetes.io/x": "y" } }),
    {},
    "",
  ],
  [
    "itself with labels of an administrator",
    Node,
    node({ labels: { "node-restriction.kubernetes.io/x": "y", "foo.k8s.io/z": "y" } }),
    {},
    'nodes "n1" is forbidden: node "n1" is not allowed to set the following labels: foo.k8s.io/z, node-restriction.kubernetes.io/x',
  ],
  [
    "a change of such labels",
    Node,
    node(),
    { old: node({ labels: { "node-role.kubernetes.io/x": "" } }) },
    'nodes "n1" is forbidden: is not allowed to modify labels: node-role.kubernetes.io/x',
  ],
  [
    "a change of taints",
    Node,
    node({}, { taints: [] }),
    { old: node({}, { taints: [{ key: "k", effect: "NoSchedule" }] }) },
    'nodes "n1" is forbidden: node "n1" is not allowed to modify taints',
  ],
  [
    "a change of owners",
    Node,
    node({ ownerReferences: [owner] }),
    { old: node() },
    'nodes "n1" is forbidden: node "n1" is not allowed to modify ownerReferences',
  ],
  [
    "the size in the status of a claim",
    PersistentVolumeClaim,
    claim({ phase: "Bound", capacity: { storage: "1Gi" } }),
    { old: claim({ phase: "Bound" }), subresource: "status" },
    "",
  ],
  [
    "the phase of a claim",
    PersistentVolumeClaim,
    claim({ phase: "Bound" }),
    { old: claim({ phase: "Lost" }), subresource: "status" },
    'persistentvolumeclaims "c" is forbidden: node "n1" is not allowed to update fields other than status.quantity and status.conditions: status',
  ],
  [
    "a claim itself",
    PersistentVolumeClaim,
    claim({}),
    { old: claim({}) },
    'persistentvolumeclaims "c" is forbidden: may only update PVC status',
  ],
  ["a token for a pod of its own", ServiceAccount, token(bound), asToken, ""],
  [
    "a token for no pod",
    ServiceAccount,
    token(undefined),
    asToken,
    'serviceaccounts "sa" is forbidden: node requested token not bound to a pod',
  ],
  [
    "a token for a pod without uid",
    ServiceAccount,
    token({ ...bound, uid: undefined }),
    asToken,
    'serviceaccounts "sa" is forbidden: node requested token with a pod binding without a uid',
  ],
  [
    "a token for a pod that was",
    ServiceAccount,
    token({ ...bound, uid: "u0" }),
    asToken,
    'serviceaccounts "sa" is forbidden: the UID in the bound object reference (u0) does not match the UID in record. The object might have been deleted and then recreated',
  ],
  [
    "a token for another's pod",
    ServiceAccount,
    token({ ...bound, name: "other", uid: "u2" }),
    asToken,
    'serviceaccounts "sa" is forbidden: node requested token bound to a pod scheduled on a different node',
  ],
  [
    "a token for an audience the pod does not name",
    ServiceAccount,
    token(bound, ["bank"]),
    asToken,
    'serviceaccounts "sa" is forbidden: audience "bank" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
  ],
  [
    "a token for two audiences",
    ServiceAccount,
    token(bound, ["a", "b"]),
    asToken,
    'serviceaccounts "sa" is forbidden: node may only request 0 or 1 audiences',
  ],
  ["its lease", Lease, { metadata: { name: "n1", namespace: "kube-node-lease" } }, {}, ""],
  [
    "another's lease",
    Lease,
    { metadata: { name: "n2", namespace: "kube-node-lease" } },
    {},
    'leases.coordination.k8s.io "n2" is forbidden: can only access node lease with the same name as the requesting node',
  ],
  [
    "a lease elsewhere",
    Lease,
    { metadata: { name: "n1", namespace: "kube-system" } },
    {},
    'leases.coordination.k8s.io "n1" is forbidden: can only access leases in the "kube-node-lease" system namespace',
  ],
  [
    "another's CSINode",
    CSINode,
    { metadata: { name: "n2" }, spec: { drivers: [] } },
    {},
    'csinodes.storage.k8s.io "n2" is forbidden: can only access CSINode with the same name as the requesting node',
  ],
  ["its slice", ResourceSlice, slice("n1"), {}, ""],
  [
    "another's slice",
    ResourceSlice,
    slice("n2"),
    {},
    'resourceslices.resource.k8s.io "s" is forbidden: can only create ResourceSlice with the same NodeName as the requesting node',
  ],
  [
    "a certificate for itself",
    CertificateSigningRequest,
    csrWith("kubernetes.io/kubelet-serving", { CN: ["system:node:n1"] }),
    {},
    "",
  ],
  [
    "a certificate for another",
    CertificateSigningRequest,
    csrWith("kubernetes.io/kubelet-serving", { CN: ["system:node:n2"] }),
    {},
    'certificatesigningrequests.certificates.k8s.io "r" is forbidden: can only create a node CSR with CN=system:node:n1',
  ],
];

describe("NodeRestriction", () => {
  for (const [what, kind, object, request, refusal] of cases)
    test(`${refusal === "" ? "lets a node write" : "refuses a node"} ${what}`, async () => {
      const world = worldOfNodes();
      world.authorize = async () => ({ decision: "none" });
      assert.equal((await world.admit(nodeRestriction, kind, object, { user, ...request })).refusal, refusal);
    });

  test("leaves everyone else alone", async () => {
    assert.equal((await worldOfNodes().admit(nodeRestriction, Node, { metadata: { name: "n2" } })).refusal, "");
  });

  test("refuses a node without a name", async () => {
    const nameless = { user: { name: "system:node:", groups: ["system:nodes"] } };
    assert.equal(
      (await worldOfNodes().admit(nodeRestriction, Node, node(), nameless)).refusal,
      'nodes "n1" is forbidden: could not determine node from user "system:node:"',
    );
  });
});
