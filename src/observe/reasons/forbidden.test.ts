import assert from "node:assert/strict";
import { test } from "node:test";
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import { Role } from "#api/rbac/v1/role.ts";
import { RoleBinding } from "#api/rbac/v1/role-binding.ts";
import { made } from "../testing.ts";
import { type Grants, refusalReason, type Wish, wishIn } from "./forbidden.ts";

test("a refusal is read from the server's words", () => {
  const table: readonly (readonly [string, Wish | undefined])[] = [
    [
      'Error from server (Forbidden): pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "shop"',
      { user: "bob", verb: "list", resource: "pods", group: "", namespace: "shop" },
    ],
    [
      'deployments.apps "web" is forbidden: User "system:serviceaccount:ci:bot" cannot patch resource "deployments/scale" in API group "apps" in the namespace "shop"',
      {
        user: "system:serviceaccount:ci:bot",
        verb: "patch",
        resource: "deployments/scale",
        group: "apps",
        namespace: "shop",
        name: "web",
      },
    ],
    [
      'nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the cluster scope',
      { user: "bob", verb: "list", resource: "nodes", group: "" },
    ],
    ['forbidden: User "bob" cannot get path "/metrics"', { user: "bob", verb: "get", path: "/metrics" }],
    ["pod/web", undefined],
    ["", undefined],
  ];
  for (const [text, wish] of table) assert.deepEqual(wishIn(text), wish, text);
});

const rule = (verbs: string, resources: string, more: object = {}) => ({
  verbs: verbs.split(" "),
  apiGroups: [""],
  resources: resources.split(" "),
  ...more,
});
const refTo = (kind: "Role" | "ClusterRole", name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name });
const bob = { kind: "User", name: "bob" } as const;
const grants: Grants = {
  roles: [
    made(Role, { metadata: { name: "reader", namespace: "shop" }, rules: [rule("get", "pods")] }),
    made(Role, {
      metadata: { name: "one", namespace: "shop" },
      rules: [rule("get", "secrets", { resourceNames: ["key"] })],
    }),
  ],
  clusterRoles: [
    made(ClusterRole, {
      metadata: { name: "edit" },
      rules: [rule("*", "pods"), rule("*", "services"), rule("*", "secrets")],
    }),
    made(ClusterRole, { metadata: { name: "view" }, rules: [rule("get list watch", "pods services")] }),
    made(ClusterRole, { metadata: { name: "system:all" }, rules: [rule("*", "*")] }),
    made(ClusterRole, { metadata: { name: "paths" }, rules: [{ verbs: ["get"], nonResourceURLs: ["/logs/*"] }] }),
  ],
  bindings: [
    made(RoleBinding, {
      metadata: { name: "bob", namespace: "shop" },
      roleRef: refTo("Role", "reader"),
      subjects: [bob],
    }),
    made(RoleBinding, {
      metadata: { name: "bob-one", namespace: "shop" },
      roleRef: refTo("Role", "one"),
      subjects: [bob],
    }),
    made(RoleBinding, {
      metadata: { name: "bot", namespace: "shop" },
      roleRef: refTo("ClusterRole", "view"),
      subjects: [{ kind: "ServiceAccount", name: "bot", namespace: "ci" }],
    }),
  ],
  clusterBindings: [
    made(ClusterRoleBinding, {
      metadata: { name: "paths" },
      roleRef: refTo("ClusterRole", "paths"),
      subjects: [{ kind: "Group", name: "system:authenticated" }],
    }),
  ],
};
const wish = (rest: Partial<Wish>): Wish => ({
  user: "bob",
  verb: "list",
  resource: "pods",
  group: "",
  namespace: "shop",
  ...rest,
});

test("why says what the roles of a user lack, and how to give it", () => {
  const { code, state, says, evidence, remedies } = refusalReason(wish({}), grants);
  assert.deepEqual([code, state], ["Forbidden", "wrong"]);
  assert.equal(says, "may not list pods in namespace shop: none of the roles it has allows that");
  assert.deepEqual(evidence, [
    { from: "RoleBinding shop/bob", says: "gives Role reader, which allows get of pods, not list" },
    { from: "RoleBinding shop/bob-one", says: "gives Role one, which says nothing about pods" },
    { from: "ClusterRoleBinding paths", says: "gives ClusterRole paths, which says nothing about pods" },
  ]);
  assert.deepEqual(remedies, [
    "make a role for just that: kubectl create role NAME --verb=list --resource=pods -n shop; then kubectl create rolebinding NAME --role=NAME --user=bob -n shop",
    "or give it the role view: kubectl create rolebinding NAME --clusterrole=view --user=bob -n shop",
  ]);
});

test("why of a refusal knows names, service accounts, paths, and what is allowed by now", () => {
  const of = (rest: Partial<Wish>) => refusalReason(wish(rest), grants);
  assert.deepEqual(of({ verb: "get", resource: "secrets", name: "other" }).evidence?.[1], {
    from: "RoleBinding shop/bob-one",
    says: "gives Role one, which allows that only for key",
  });
  assert.equal(of({ verb: "get", resource: "secrets", name: "key" }).code, "Allowed");
  assert.equal(of({ user: "system:serviceaccount:ci:bot" }).code, "Allowed");
  assert.equal(of({ user: "system:serviceaccount:shop:bot" }).code, "Forbidden");
  const path = { user: "bob", verb: "get", path: "/logs/x" };
  assert.equal(refusalReason(path, grants).code, "Allowed");
  assert.match(
    refusalReason({ ...path, path: "/metrics" }, grants).remedies?.[0] ?? "",
    /--non-resource-url=\/metrics/,
  );
  const { remedies } = of({
    user: "system:serviceaccount:shop:bot",
    resource: "deployments/scale",
    group: "apps",
    verb: "patch",
  });
  assert.match(
    remedies?.[0] ?? "",
    /--verb=patch --resource=deployments\.apps\/scale -n shop; .* --serviceaccount=shop:bot/,
  );
});

test("why offers the roles that are made for people before those that a chart made for itself", () => {
  const chart = made(ClusterRole, { metadata: { name: "promtail" }, rules: [rule("list", "pods")] });
  const { remedies } = refusalReason(wish({}), { ...grants, clusterRoles: [chart, ...grants.clusterRoles] });
  assert.match(remedies?.[1] ?? "", /^or give it the role view: /);
});
