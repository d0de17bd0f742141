// The provisioner that comes with the cluster: volumes that are folders of its nodes, and the objects that let claims have them.
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import type { SystemObject } from "#apiserver/bootstrap/objects.ts";
import type { Component } from "#base/supervise.ts";
import { type ControllersOptions, runControllers } from "#client/run-controllers.ts";
import { localProvisionController, localReclaimController } from "#controllers/local-storage/local-provisioner.ts";
import { localResizeController } from "#controllers/local-storage/local-resizer.ts";
import { localProvisioner, type NodeStorage, simulatedStorage } from "#controllers/local-storage/node-storage.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { DraftObject } from "#schema/object.ts";
import type { ClusterNodes } from "./cluster.ts";

/** In kube-system. */
export const localStorageAccount = "local-provisioner";
const role = "knarr:local-provisioner";

export const localStorage = (storage: NodeStorage, options: ControllersOptions): Component =>
  runControllers(
    [localProvisionController(storage), localReclaimController(storage), localResizeController(storage)],
    options,
  );

/** Simulated nodes on which volumes can be made, as simulated as the containers that use them. */
export const withStorage = (nodes: ClusterNodes): ClusterNodes => ({
  ...nodes,
  storage: simulatedStorage((name) => nodes.names.includes(name) && nodes.isOn(name)),
});

const made = (kind: AnyKind, metadata: DraftObject["metadata"], rest: object): SystemObject => ({
  kind,
  object: { apiVersion: kind.apiVersion, kind: kind.kind, metadata, ...rest },
});

const read = ["get", "list", "watch"];

/** The default class, and what the provisioner may do. */
export const localStorageObjects: readonly SystemObject[] = [
  made(
    StorageClass,
    { name: "local", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    {
      provisioner: localProvisioner,
      reclaimPolicy: "Delete",
      volumeBindingMode: "WaitForFirstConsumer",
      allowVolumeExpansion: true,
    },
  ),
  made(
    ClusterRole,
    { name: role },
    {
      rules: [
        {
          apiGroups: [""],
          resources: ["persistentvolumes"],
          verbs: [...read, "create", "delete", "patch", "update"],
        },
        { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: [...read, "update"] },
        { apiGroups: [""], resources: ["persistentvolumeclaims/status"], verbs: ["update"] },
        { apiGroups: [""], resources: ["nodes"], verbs: read },
        { apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: read },
        { apiGroups: ["", "events.k8s.io"], resources: ["events"], verbs: ["create", "patch", "update"] },
      ],
    },
  ),
  made(
    ClusterRoleBinding,
    { name: role },
    {
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ kind: "ServiceAccount", namespace: "kube-system", name: localStorageAccount }],
    },
  ),
];
