// The roles and bindings that every cluster has, as the objects to store.
import type { Subject } from "#api/rbac/v1/subject.ts";
import type { DraftObject } from "#schema/object.ts";
import type { Rule } from "../rules.ts";
import { clusterRoles, gatheredRules } from "./cluster-roles.ts";
import { controllerRules } from "./controller-roles.ts";
import { can, read, reportEvents } from "./rule.ts";

const group = "rbac.authorization.k8s.io";
const elect = [
  can("create get list update watch", "leases", "coordination.k8s.io"),
  can("create get list update watch", "leasecandidates", "coordination.k8s.io"),
];
const namespacedRoles: Readonly<Record<string, Readonly<Record<string, readonly Rule[]>>>> = {
  "kube-public": {
    "system:controller:bootstrap-signer": [
      can(read, "configmaps"),
      can("update", "configmaps", "", "cluster-info"),
      reportEvents,
    ],
  },
  "kube-system": {
    "extension-apiserver-authentication-reader": [can(read, "configmaps", "", "extension-apiserver-authentication")],
    "system::leader-locking-kube-controller-manager": elect,
    "system::leader-locking-kube-scheduler": elect,
    "system:controller:bootstrap-signer": [can(read, "secrets")],
    "system:controller:cloud-provider": [can("create get list watch", "configmaps")],
    "system:controller:token-cleaner": [can("delete get list watch", "secrets"), reportEvents],
  },
};

const userNamed = (name: string): Subject => ({ kind: "User", apiGroup: group, name });
const groupNamed = (name: string): Subject => ({ kind: "Group", apiGroup: group, name });
const account = (name: string): Subject => ({ kind: "ServiceAccount", name, namespace: "kube-system" });
const [everyone, strangers] = [groupNamed("system:authenticated"), groupNamed("system:unauthenticated")];
const [manager, scheduler] = [userNamed("system:kube-controller-manager"), userNamed("system:kube-scheduler")];

/** Whom the cluster role of the same name is given to. */
const clusterSubjects: Readonly<Record<string, readonly Subject[]>> = {
  "cluster-admin": [groupNamed("system:masters")],
  "system:basic-user": [everyone],
  "system:discovery": [everyone],
  "system:kube-controller-manager": [manager],
  "system:kube-dns": [account("kube-dns")],
  "system:kube-scheduler": [scheduler],
  "system:monitoring": [groupNamed("system:monitoring")],
  // Nodes are judged one by one, by the Node authorizer.
  "system:node": [],
  "system:node-proxier": [userNamed("system:kube-proxy")],
  "system:public-info-viewer": [everyone, strangers],
  "system:service-account-issuer-discovery": [groupNamed("system:serviceaccounts")],
  "system:volume-scheduler": [scheduler],
};

/** Namespace, name, role and subjects of what is bound in one namespace only. */
const namespacedBindings: readonly (readonly [string, string, string, readonly Subject[]])[] = [
  ["kube-public", "system:controller:bootstrap-signer", "", [account("bootstrap-signer")]],
  [
    "kube-system",
    "system::extension-apiserver-authentication-reader",
    "extension-apiserver-authentication-reader",
    [manager, scheduler],
  ],
  [
    "kube-system",
    "system::leader-locking-kube-controller-manager",
    "",
    [manager, account("kube-controller-manager"), account("leader-election-controller")],
  ],
  ["kube-system", "system::leader-locking-kube-scheduler", "", [scheduler, account("kube-scheduler")]],
  ...["bootstrap-signer", "cloud-provider", "token-cleaner"].map(
    (name) => ["kube-system", `system:controller:${name}`, "", [account(name)]] as const,
  ),
];

/** Cluster roles first, then what refers to them. */
export function bootstrapObjects(): readonly DraftObject[] {
  const controllers = Object.entries(controllerRules);
  return [
    ...gatheringRoles(),
    ...Object.entries(clusterRoles).map(([name, rules]) => role("ClusterRole", { name }, rules)),
    ...controllers.map(([name, rules]) => role("ClusterRole", { name: `system:controller:${name}` }, rules)),
    ...Object.entries(clusterSubjects).map(([name, subjects]) =>
      binding({ name }, { kind: "ClusterRole", name }, subjects),
    ),
    ...controllers.map(([name]) => {
      const full = `system:controller:${name}`;
      return binding({ name: full }, { kind: "ClusterRole", name: full }, [account(name)]);
    }),
    ...Object.entries(namespacedRoles).flatMap(([namespace, roles]) =>
      Object.entries(roles).map(([name, rules]) => role("Role", { name, namespace }, rules)),
    ),
    ...namespacedBindings.map(([namespace, name, of, subjects]) =>
      binding({ name, namespace }, { kind: "Role", name: of || name }, subjects),
    ),
  ];
}

/** `admin` has all that `edit` has, which has all that `view` has; others add to them by the same labels. */
function gatheringRoles(): readonly DraftObject[] {
  const label = (of: string) => ({ [`rbac.authorization.k8s.io/aggregate-to-${of}`]: "true" });
  const above = { admin: undefined, edit: "admin", view: "edit" } as const;
  return Object.entries(above).flatMap(([name, into]) => [
    {
      ...role("ClusterRole", { name, ...(into && { labels: label(into) }) }, []),
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: label(name) }] },
    },
    role(
      "ClusterRole",
      { name: `system:aggregate-to-${name}`, labels: label(name) },
      gatheredRules[name as keyof typeof above],
    ),
  ]);
}

interface Names {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

const metadata = ({ labels, ...names }: Names) => ({
  ...names,
  labels: { "kubernetes.io/bootstrapping": "rbac-defaults", ...labels },
  annotations: { "rbac.authorization.kubernetes.io/autoupdate": "true" },
});

const role = (kind: "Role" | "ClusterRole", names: Names, rules: readonly Rule[]): DraftObject => ({
  apiVersion: `${group}/v1`,
  kind,
  metadata: metadata(names),
  rules,
});

const binding = (
  names: Names,
  roleRef: { readonly kind: string; readonly name: string },
  subjects: readonly Subject[],
): DraftObject => ({
  apiVersion: `${group}/v1`,
  kind: names.namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
  metadata: metadata(names),
  roleRef: { apiGroup: group, ...roleRef },
  ...(subjects.length > 0 && { subjects }),
});
