// The objects by which machines join: who may ask for what, what they have to know, and whom to believe. Rights and names are kubeadm's where
// kubeadm has such, so that a kubelet that kubeadm starts finds what it expects.
// Upstream: cmd/kubeadm/app/phases/bootstraptoken/node/tlsbootstrap.go and cmd/kubeadm/app/phases/bootstraptoken/clusterinfo/clusterinfo.go.
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import { Role } from "#api/rbac/v1/role.ts";
import { RoleBinding } from "#api/rbac/v1/role-binding.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { DraftObject } from "#schema/object.ts";
import { type JoinConfig, joinConfigKey, joinConfigName } from "./join-config.ts";
import { sharedSecret } from "./shared-secret.ts";

const apiGroup = "rbac.authorization.k8s.io";
/** The group that tokens of ours give to whoever shows them. */
export const joinGroup = "system:bootstrappers:kubeadm:default-node-token";
/** As whom the controllers for machines act. */
export const machineAccount = "knarr-machines";
const nodes = "system:nodes";
const csr = "system:certificates.k8s.io:certificatesigningrequests";

type Rule = Readonly<Record<"apiGroups" | "resources" | "verbs", readonly string[]>> & {
  readonly resourceNames?: readonly string[];
};

export interface JoinObject {
  readonly kind: AnyKind;
  readonly object: DraftObject;
}

const made = (kind: AnyKind, metadata: object, rest: object): JoinObject => ({
  kind,
  object: { apiVersion: kind.apiVersion, kind: kind.kind, metadata, ...rest } as DraftObject,
});

const group = (name: string) => ({ apiGroup, kind: "Group", name });
const bind = (name: string, role: string, ...subjects: readonly object[]) =>
  made(ClusterRoleBinding, { name }, { roleRef: { apiGroup, kind: "ClusterRole", name: role }, subjects });
const bindIn = (namespace: string, name: string, ...subjects: readonly object[]) =>
  made(RoleBinding, { namespace, name }, { roleRef: { apiGroup, kind: "Role", name }, subjects });
const may = (verbs: string, resources: string, apiGroups: string, ...names: readonly string[]): Rule => ({
  apiGroups: [apiGroups],
  resources: resources.split(" "),
  verbs: verbs.split(" "),
  ...(names.length > 0 && { resourceNames: names }),
});

/** Rights that are made once and can be taken away. */
export const joinRights: readonly JoinObject[] = [
  bind("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", group(joinGroup)),
  bind("kubeadm:node-autoapprove-bootstrap", `${csr}:nodeclient`, group(joinGroup)),
  bind("kubeadm:node-autoapprove-certificate-rotation", `${csr}:selfnodeclient`, group(nodes)),
  made(ClusterRole, { name: "kubeadm:get-nodes" }, { rules: [may("get", "nodes", "")] }),
  bind("kubeadm:get-nodes", "kubeadm:get-nodes", group(joinGroup)),
  made(
    Role,
    { namespace: "kube-public", name: "kubeadm:bootstrap-signer-clusterinfo" },
    { rules: [may("get", "configmaps", "", "cluster-info")] },
  ),
  bindIn("kube-public", "kubeadm:bootstrap-signer-clusterinfo", { apiGroup, kind: "User", name: "system:anonymous" }),
  made(
    Role,
    { namespace: joinConfigName.namespace, name: "knarr:machine-config" },
    { rules: [may("get", "configmaps", "", joinConfigName.name)] },
  ),
  bindIn(joinConfigName.namespace, "knarr:machine-config", group(joinGroup), group(nodes)),
  // What control planes join with is encrypted; whoever has a token but no key learns nothing from it.
  made(
    Role,
    { namespace: sharedSecret.namespace, name: "kubeadm:kubeadm-certs" },
    { rules: [may("get", "secrets", "", sharedSecret.name)] },
  ),
  bindIn(sharedSecret.namespace, "kubeadm:kubeadm-certs", group(joinGroup)),
  // Traffic for services and network policies concern pods of all nodes: what carries and limits it there sees them all.
  made(
    ClusterRole,
    { name: "knarr:machine-network" },
    {
      rules: [
        may("list watch", "nodes services pods namespaces", ""),
        may("list watch", "endpointslices", "discovery.k8s.io"),
        may("list watch", "networkpolicies servicecidrs", "networking.k8s.io"),
      ],
    },
  ),
  bind("knarr:machine-network", "knarr:machine-network", group(nodes)),
  made(
    ClusterRole,
    { name: "knarr:machines" },
    {
      rules: [
        may("get list watch delete", "nodes", ""),
        may("get list watch", "certificatesigningrequests", "certificates.k8s.io"),
        may("update", "certificatesigningrequests/approval", "certificates.k8s.io"),
        may("approve", "signers", "certificates.k8s.io", "kubernetes.io/kubelet-serving"),
        may("create patch update", "events", ""),
      ],
    },
  ),
  bind("knarr:machines", "knarr:machines", { kind: "ServiceAccount", namespace: "kube-system", name: machineAccount }),
];

/** What is brought up to date whenever the cluster starts. */
export const joinInfo = (config: JoinConfig, server: string, ca: string): readonly JoinObject[] => [
  made(
    ConfigMap,
    { namespace: "kube-public", name: "cluster-info" },
    { data: { kubeconfig: infoKubeconfig(server, ca) } },
  ),
  made(ConfigMap, joinConfigName, { data: { [joinConfigKey]: JSON.stringify(config, undefined, 2) } }),
];

export const infoKubeconfig = (server: string, ca: string): string =>
  `${JSON.stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "", cluster: { server, "certificate-authority-data": Buffer.from(ca).toString("base64") } }],
      users: [],
      contexts: [],
      "current-context": "",
      preferences: {},
    },
    undefined,
    2,
  )}\n`;
