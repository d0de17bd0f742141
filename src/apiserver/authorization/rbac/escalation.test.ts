import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../../testing.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const roles = `${rbac}/namespaces/web/roles`;
const bindings = `${rbac}/namespaces/web/rolebindings`;
const users = { alice: { name: "alice", groups: ["dev", "system:authenticated"] } };
const headers = { authorization: "Bearer alice" };
const rule = (verbs: string, resources: string, more: object = {}) => ({
  verbs: verbs.split(" "),
  apiGroups: [""],
  resources: resources.split(" "),
  ...more,
});
const writeRbac = {
  verbs: ["get", "create", "update", "patch", "delete"],
  apiGroups: ["rbac.authorization.k8s.io"],
  resources: ["*"],
};
const toAlice = [{ kind: "User", name: "alice" }];
const refTo = (kind: string, name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name });

/** Alice may write roles and bindings, and read pods; and what else is given. */
async function serverWith(...more: readonly object[]) {
  const s = await testServer({ users, authorizers: (own) => [own.rbac] });
  await s.call("POST", `${rbac}/clusterroles`, {
    metadata: { name: "base" },
    rules: [writeRbac, rule("get list", "pods"), ...more],
  });
  await s.call("POST", `${rbac}/clusterrolebindings`, {
    metadata: { name: "base" },
    roleRef: refTo("ClusterRole", "base"),
    subjects: toAlice,
  });
  await s.call("POST", `${rbac}/clusterroles`, { metadata: { name: "secrets" }, rules: [rule("get", "secrets")] });
  await s.call("POST", `${rbac}/clusterroles`, { metadata: { name: "pods" }, rules: [rule("get", "pods")] });
  return s;
}

test("nobody gives what they do not have, and the refusal lists it in upstream's words", async () => {
  await using s = await serverWith();
  const make = async (path: string, body: object) => {
    const { code, json } = await s.call("POST", path, body, headers);
    return code === 201 ? "ok" : `${code} ${json.message}`;
  };
  const unheld =
    'user "alice" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n';
  assert.equal(await make(roles, { metadata: { name: "a" }, rules: [rule("get", "pods")] }), "ok");
  assert.equal(
    await make(roles, { metadata: { name: "b" }, rules: [rule("get delete", "pods secrets")] }),
    `403 roles.rbac.authorization.k8s.io "b" is forbidden: ${unheld}{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}\n{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}`,
  );
  assert.equal(
    await make(bindings, { metadata: { name: "a" }, roleRef: refTo("ClusterRole", "pods"), subjects: toAlice }),
    "ok",
  );
  assert.equal(
    await make(bindings, { metadata: { name: "b" }, roleRef: refTo("ClusterRole", "secrets"), subjects: toAlice }),
    `403 rolebindings.rbac.authorization.k8s.io "b" is forbidden: ${unheld}{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`,
  );
  assert.equal(
    await make(bindings, { metadata: { name: "c" }, roleRef: refTo("Role", "nope"), subjects: toAlice }),
    '404 rolebindings.rbac.authorization.k8s.io "nope" not found',
  );
  assert.equal(
    await make(`${rbac}/clusterrolebindings`, {
      metadata: { name: "b" },
      roleRef: refTo("ClusterRole", "secrets"),
      subjects: toAlice,
    }),
    `403 clusterrolebindings.rbac.authorization.k8s.io "b" is forbidden: ${unheld}{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`,
  );
  assert.equal(
    await make(`${rbac}/clusterroles`, {
      metadata: { name: "agg" },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] },
      rules: [],
    }),
    '403 clusterroles.rbac.authorization.k8s.io "agg" is forbidden: must have cluster-admin privileges to use the aggregationRule',
  );
});

test("an update and a patch are checked like a create, but for owners and finalizers", async () => {
  await using s = await serverWith();
  await s.call("POST", roles, { metadata: { name: "r" }, rules: [rule("get", "secrets")] });
  const patch = async (body: object) => {
    const merge = { ...headers, "content-type": "application/merge-patch+json" };
    return (await s.call("PATCH", `${roles}/r`, body, merge)).code;
  };
  assert.equal(await patch({ metadata: { labels: { a: "b" } } }), 403);
  assert.equal(await patch({ metadata: { finalizers: ["example.com/x"] } }), 200);
  assert.equal(await patch({ rules: [rule("get", "pods")] }), 200);
  const put = await s.call(
    "PUT",
    `${roles}/fresh`,
    { metadata: { name: "fresh" }, rules: [rule("get", "secrets")] },
    headers,
  );
  assert.equal(put.code, 403);
});

test("who may escalate a role or bind it needs not have what it gives", async () => {
  const onRoles = { apiGroups: ["rbac.authorization.k8s.io"] };
  await using s = await serverWith(
    rule("escalate", "roles", onRoles),
    rule("bind", "clusterroles", { ...onRoles, resourceNames: ["secrets"] }),
  );
  await s.call("POST", `${rbac}/clusterroles`, { metadata: { name: "nodes" }, rules: [rule("get", "nodes")] });
  const code = async (path: string, body: object) => (await s.call("POST", path, body, headers)).code;
  assert.equal(await code(roles, { metadata: { name: "a" }, rules: [rule("*", "*")] }), 201);
  assert.equal(await code(`${rbac}/clusterroles`, { metadata: { name: "a" }, rules: [rule("*", "*")] }), 403);
  assert.equal(
    await code(bindings, { metadata: { name: "a" }, roleRef: refTo("ClusterRole", "secrets"), subjects: toAlice }),
    201,
  );
  assert.equal(
    await code(bindings, { metadata: { name: "b" }, roleRef: refTo("ClusterRole", "nodes"), subjects: toAlice }),
    403,
  );
});
