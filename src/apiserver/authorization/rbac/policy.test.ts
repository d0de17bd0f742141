import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import { Role } from "#api/rbac/v1/role.ts";
import { RoleBinding } from "#api/rbac/v1/role-binding.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import type { Question } from "#serving/authorization.ts";
import type { User } from "#wire/api-request.ts";
import { keyPrefix } from "../../store-follower.ts";
import { StoredForm } from "../../stored.ts";
import { testServer } from "../../testing.ts";
import { WatchCache } from "../../watch-cache.ts";
import { RbacPolicy } from "./policy.ts";
import type { Rule } from "./rules.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const alice: User = { name: "alice", groups: ["dev", "system:authenticated"] };
const robot: User = {
  name: "system:serviceaccount:web:robot",
  groups: ["system:serviceaccounts", "system:serviceaccounts:web", "system:authenticated"],
};
const users = { alice, robot };
const as = (token: string) => ({ authorization: `Bearer ${token}` });
const role = (name: string, ...rules: readonly object[]) => ({ metadata: { name }, rules });
const readPods = { verbs: ["get", "list"], apiGroups: [""], resources: ["pods"] };
const binding = (name: string, kind: string, of: string, ...subjects: readonly object[]) => ({
  metadata: { name },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: of },
  subjects,
});

test("a role and a binding open one namespace, a cluster role binding all; refusals have upstream's text", async () => {
  await using s = await testServer({ users, authorizers: ({ rbac }) => [rbac] });
  const get = async (path: string, token = "alice") => {
    const { code, json } = await s.call("GET", path, undefined, as(token));
    return code === 200 ? "ok" : `${code} ${json.message}`;
  };
  const pods = "/api/v1/namespaces/web/pods";
  assert.equal(
    await get(pods),
    '403 pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "web"',
  );
  assert.equal(
    await get("/apis/apps/v1/namespaces/web/deployments/x/scale"),
    '403 deployments.apps "x" is forbidden: User "alice" cannot get resource "deployments/scale" in API group "apps" in the namespace "web"',
  );
  assert.equal(
    await get("/api/v1/nodes"),
    '403 nodes is forbidden: User "alice" cannot list resource "nodes" in API group "" at the cluster scope',
  );
  assert.equal(await get("/metrics"), '403 forbidden: User "alice" cannot get path "/metrics"');

  await s.call("POST", `${rbac}/namespaces/web/roles`, role("reader", readPods));
  await s.call(
    "POST",
    `${rbac}/namespaces/web/rolebindings`,
    binding("b", "Role", "reader", { kind: "Group", name: "dev" }),
  );
  assert.equal(await get(pods), "ok");
  assert.match(await get("/api/v1/namespaces/other/pods"), /^403/);
  assert.match(await get("/api/v1/pods"), /^403/);

  await s.call("DELETE", `${rbac}/namespaces/web/roles/reader`);
  assert.equal(
    await get(pods),
    '403 pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "web": RBAC: role.rbac.authorization.k8s.io "reader" not found',
  );
  await s.call("POST", `${rbac}/clusterroles`, role("reader", readPods));
  await s.call(
    "POST",
    `${rbac}/clusterrolebindings`,
    binding("all", "ClusterRole", "reader", { kind: "User", name: "alice" }),
  );
  assert.equal(await get("/api/v1/pods"), "ok");
  assert.equal(await get(pods), "ok");
  await s.call("DELETE", `${rbac}/clusterrolebindings/all`);
  assert.match(await get("/api/v1/pods"), /^403/);
});

test("a service account is a subject, of the binding's own namespace if it names none", async () => {
  await using s = await testServer({ users, authorizers: ({ rbac }) => [rbac] });
  await s.call("POST", `${rbac}/clusterroles`, role("reader", readPods));
  const subject = { kind: "ServiceAccount", name: "robot" };
  const list = async () => (await s.call("GET", "/api/v1/namespaces/web/pods", undefined, as("robot"))).code;
  await s.call(
    "POST",
    `${rbac}/namespaces/web/rolebindings`,
    binding("b", "ClusterRole", "reader", { ...subject, namespace: "other" }),
  );
  assert.equal(await list(), 403);
  await s.call(
    "POST",
    `${rbac}/namespaces/web/rolebindings`,
    binding("c", "ClusterRole", "reader", { ...subject, namespace: "web" }),
  );
  assert.equal(await list(), 200);
});

test("a namespace is judged as being in itself, and a list of one object as that object", async () => {
  await using s = await testServer({ users, authorizers: ({ rbac }) => [rbac] });
  await s.call(
    "POST",
    `${rbac}/namespaces/web/roles`,
    role(
      "r",
      { verbs: ["get"], apiGroups: [""], resources: ["namespaces"] },
      {
        verbs: ["list", "watch", "deletecollection"],
        apiGroups: [""],
        resources: ["secrets"],
        resourceNames: ["mine"],
      },
    ),
  );
  await s.call(
    "POST",
    `${rbac}/namespaces/web/rolebindings`,
    binding("b", "Role", "r", { kind: "User", name: "alice" }),
  );
  await s.call("POST", "/api/v1/namespaces", { metadata: { name: "web" } });
  const code = async (path: string, method = "GET") => (await s.call(method, path, undefined, as("alice"))).code;
  assert.equal(await code("/api/v1/namespaces/web"), 200);
  assert.equal(await code("/api/v1/namespaces/default"), 403);
  const secrets = "/api/v1/namespaces/web/secrets";
  assert.equal(await code(`${secrets}?fieldSelector=metadata.name%3Dmine`), 200);
  assert.equal(await code(`${secrets}?fieldSelector=metadata.name%3Dother`), 403);
  assert.equal(await code(`${secrets}?fieldSelector=metadata.name!%3Dmine`), 403);
  assert.equal(await code(secrets), 403);
  // A deletion of many is none of the one object, however it is narrowed.
  assert.equal(await code(`${secrets}?fieldSelector=metadata.name%3Dmine`, "DELETE"), 403);
});

test("an update that would create needs the permission to create", async () => {
  await using s = await testServer({ users, authorizers: ({ rbac }) => [rbac] });
  await s.call(
    "POST",
    `${rbac}/clusterroles`,
    role("updater", {
      verbs: ["update", "patch"],
      apiGroups: ["coordination.k8s.io", ""],
      resources: ["leases", "configmaps"],
    }),
  );
  await s.call(
    "POST",
    `${rbac}/clusterrolebindings`,
    binding("b", "ClusterRole", "updater", { kind: "User", name: "alice" }),
  );
  const lease = { metadata: { name: "l", resourceVersion: "1" }, spec: {} };
  const put = await s.call("PUT", "/apis/coordination.k8s.io/v1/namespaces/web/leases/l", lease, as("alice"));
  assert.deepEqual(
    [put.code, put.json.message],
    [
      403,
      'leases.coordination.k8s.io "l" is forbidden: User "alice" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "web"',
    ],
  );
  const applied = await s.call(
    "PATCH",
    "/api/v1/namespaces/web/configmaps/c?fieldManager=x",
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" } },
    { ...as("alice"), "content-type": "application/apply-patch+yaml" },
  );
  assert.equal(applied.code, 403);
});

// The index against an evaluator that looks at everything, for every question.

const word = (...words: readonly string[]) => fc.constantFrom(...words);
const words = (...all: readonly string[]) => fc.uniqueArray(word(...all), { minLength: 1, maxLength: 3 });
const aRule = fc.oneof(
  fc.record({
    verbs: words("get", "list", "create", "*"),
    apiGroups: words("", "apps", "*"),
    resources: words("pods", "pods/log", "deployments", "*/scale", "*"),
    resourceNames: fc.oneof(fc.constant([]), words("web", "db")),
  }),
  fc.record({ verbs: words("get", "*"), nonResourceURLs: words("/healthz", "/healthz/*", "/api*", "*") }),
);
const aSubject = fc.oneof(
  fc.record({ kind: fc.constant("User"), name: word("alice", "bob", "system:serviceaccount:a:robot") }),
  fc.record({ kind: fc.constant("Group"), name: word("dev", "ops") }),
  fc.record({ kind: fc.constant("ServiceAccount"), name: word("robot", "other"), namespace: word("a", "b") }),
  fc.record({ kind: fc.constant("ServiceAccount"), name: word("robot", "other") }),
);
const place = word("a", "b");
const anObject = fc.oneof(
  fc.record({ kind: fc.constant(ClusterRole), name: word("r1", "r2"), rules: fc.array(aRule, { maxLength: 3 }) }),
  fc.record({
    kind: fc.constant(Role),
    namespace: place,
    name: word("r1", "r2"),
    rules: fc.array(aRule, { maxLength: 3 }),
  }),
  fc.record({
    kind: fc.constant(ClusterRoleBinding),
    name: word("b1", "b2"),
    role: word("ClusterRole/r1", "ClusterRole/r2"),
    subjects: fc.array(aSubject, { maxLength: 3 }),
  }),
  fc.record({
    kind: fc.constant(RoleBinding),
    namespace: place,
    name: word("b1", "b2"),
    role: word("ClusterRole/r1", "ClusterRole/r2", "Role/r1", "Role/r2"),
    subjects: fc.array(aSubject, { maxLength: 3 }),
  }),
);
const aStep = fc.oneof(
  { weight: 4, arbitrary: anObject.map((object) => ({ ...object, gone: false })) },
  { weight: 1, arbitrary: anObject.map((object) => ({ ...object, gone: true })) },
);
const aUser = fc.record({
  name: word("alice", "bob", "system:serviceaccount:a:robot", "system:serviceaccount:b:other"),
  groups: fc.uniqueArray(word("dev", "ops"), { maxLength: 2 }),
});
const aQuestion: fc.Arbitrary<Question> = fc.oneof(
  fc.record({
    type: fc.constant("path" as const),
    user: aUser,
    verb: word("get", "post"),
    path: word("/healthz", "/healthz/x", "/apis", "/metrics"),
  }),
  fc.record(
    {
      type: fc.constant("resource" as const),
      user: aUser,
      verb: word("get", "list", "create"),
      group: word("", "apps"),
      version: fc.constant("v1"),
      resource: word("pods", "deployments"),
      subresource: word("log", "scale"),
      namespace: place,
      name: word("web", "db"),
    },
    { requiredKeys: ["type", "user", "verb", "group", "version", "resource"] },
  ),
);

interface Step {
  readonly kind: AnyKind;
  readonly gone: boolean;
  readonly name: string;
  readonly namespace?: string;
  readonly role?: string;
  readonly rules?: readonly Rule[];
  readonly subjects?: readonly Readonly<Record<string, string>>[];
}

/** Looks through everything there is, in the simplest way. */
function plainEvaluator(objects: ReadonlyMap<string, Step>, question: Question): boolean {
  const { user } = question;
  const all = [...objects.values()];
  const namespace = question.type === "resource" ? question.namespace : undefined;
  return all.some((binding) => {
    if (binding.kind !== ClusterRoleBinding && !(binding.kind === RoleBinding && binding.namespace === namespace))
      return false;
    const applies = (binding.subjects ?? []).some((subject) => {
      if (subject.kind === "User") return subject.name === user.name;
      if (subject.kind === "Group") return user.groups.includes(subject.name as string);
      const of = subject.namespace ?? binding.namespace;
      return of !== undefined && user.name === `system:serviceaccount:${of}:${subject.name}`;
    });
    if (!applies) return false;
    const [kind, name] = (binding.role ?? "").split("/");
    const found = all.find(
      (one) =>
        one.kind.kind === kind && one.name === name && (kind === "ClusterRole" || one.namespace === binding.namespace),
    );
    return (found?.rules ?? []).some((rule) => {
      const has = (list: readonly string[] | undefined, value: string) =>
        list?.some((one) => one === "*" || one === value) ?? false;
      if (!has(rule.verbs, question.verb)) return false;
      if (question.type === "path")
        return (
          rule.nonResourceURLs?.some((url) =>
            url.endsWith("*") ? question.path.startsWith(url.slice(0, -1)) : url === question.path,
          ) ?? false
        );
      const { resource, subresource, name: wanted } = question;
      const whole = subresource ? `${resource}/${subresource}` : resource;
      return (
        has(rule.apiGroups, question.group) &&
        (has(rule.resources, whole) ||
          (subresource !== undefined && (rule.resources?.includes(`*/${subresource}`) ?? false))) &&
        (!rule.resourceNames?.length || rule.resourceNames.includes(wanted ?? ""))
      );
    });
  });
}

test("300 random policies, changed and questioned at random, are judged as a plain evaluator does", () => {
  fc.assert(
    fc.property(
      fc.array(aStep, { minLength: 1, maxLength: 25 }),
      fc.array(aQuestion, { minLength: 5, maxLength: 20 }),
      (steps, questions) => {
        const caches = new Map(
          [ClusterRole, Role, ClusterRoleBinding, RoleBinding].map((kind) => [
            kind as AnyKind,
            new WatchCache(keyPrefix(kind), new StoredForm(kind)),
          ]),
        );
        const policy = new RbacPolicy((kind) => caches.get(kind) as WatchCache);
        const model = new Map<string, Step>();
        let revision = 1;
        for (const step of steps as readonly Step[]) {
          const { kind, name, namespace } = step;
          const key = `${keyPrefix(kind)}${namespace ? `${namespace}/` : ""}${name}`;
          const [roleKind, roleName] = (step.role ?? "").split("/");
          const object = {
            metadata: { name, ...(namespace && { namespace }) },
            ...(step.rules
              ? { rules: step.rules }
              : {
                  subjects: step.subjects,
                  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: roleKind, name: roleName },
                }),
          };
          const value = new StoredForm(kind).encode(object as unknown as ApiObject);
          const entry = { key, value, created: 1, modified: ++revision };
          if (step.gone && !model.has(key)) continue;
          caches.get(kind)?.apply([step.gone ? { type: "delete", entry, previous: entry } : { type: "put", entry }]);
          if (step.gone) model.delete(key);
          else model.set(key, step);
        }
        for (const question of questions) {
          assert.equal(
            policy.authorize(question).decision === "allow",
            plainEvaluator(model, question),
            JSON.stringify(question),
          );
          const rules = policy.rulesFor(question.user, question.type === "resource" ? question.namespace : undefined);
          assert.ok(policy.authorize(question).decision !== "allow" || rules.rules.length > 0);
        }
      },
    ),
    { numRuns: 300 },
  );
});
