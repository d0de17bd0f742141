import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { MemoryStore } from "#store/memory.ts";
import { testServer } from "../../../testing.ts";
import { bootstrapObjects } from "./objects.ts";

const clusterRoles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const clusterRoleBindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const autoUpdate = "rbac.authorization.kubernetes.io/autoupdate";

/** A store that outlives the servers that use it. */
const lasting = () => Object.assign(new MemoryStore({ clock: new ManualClock() }), { close: async () => undefined });

test("a new server has the roles and bindings of every cluster, and they let their subjects in", async () => {
  const users = {
    scheduler: { name: "system:kube-scheduler", groups: ["system:authenticated"] },
    nobody: { name: "system:anonymous", groups: ["system:unauthenticated"] },
  };
  await using s = await testServer({ users, bootstrapPolicy: true, authorizers: ({ rbac }) => [rbac] });
  const code = async (path: string, token: string) =>
    (await s.call("GET", path, undefined, { authorization: `Bearer ${token}` })).code;
  assert.equal(await code("/api/v1/pods", "scheduler"), 200);
  assert.equal(await code("/api/v1/secrets", "scheduler"), 403);
  assert.equal(await code("/apis", "scheduler"), 200);
  assert.equal(await code("/version", "nobody"), 200);
  assert.equal(await code("/apis", "nobody"), 403);
});

test("a second start writes nothing", async () => {
  const store = lasting();
  await (await testServer({ store, bootstrapPolicy: true }))[Symbol.asyncDispose]();
  const before = await store.revision();
  await (await testServer({ store, bootstrapPolicy: true }))[Symbol.asyncDispose]();
  assert.equal(await store.revision(), before);
});

test("a start adds what is missing, keeps what people added, and leaves alone what they protected", async () => {
  const store = lasting();
  const patch = { "content-type": "application/merge-patch+json" };
  const extra = { verbs: ["get"], apiGroups: [""], resources: ["extras"] };
  {
    await using s = await testServer({ store, bootstrapPolicy: true });
    await s.call("PATCH", `${clusterRoles}/system:kube-dns`, { rules: [extra] }, patch);
    const open = { metadata: { annotations: { [autoUpdate]: "false" } }, rules: [extra] };
    await s.call("PATCH", `${clusterRoles}/system:heapster`, open, patch);
    await s.call(
      "PATCH",
      `${clusterRoleBindings}/system:kube-dns`,
      { subjects: [{ kind: "User", name: "me" }] },
      patch,
    );
    await s.call("DELETE", `${clusterRoles}/view`);
    await s.call("DELETE", `${clusterRoleBindings}/system:monitoring`);
    await s.call("POST", clusterRoleBindings, {
      metadata: { name: "system:monitoring" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "other" },
    });
  }
  await using s = await testServer({ store, bootstrapPolicy: true });
  const get = async (path: string) => (await s.call("GET", path)).json;
  assert.deepEqual((await get(`${clusterRoles}/system:kube-dns`)).rules, [
    extra,
    ...["endpoints", "services"].flatMap((resource) =>
      ["list", "watch"].map((verb) => ({ verbs: [verb], apiGroups: [""], resources: [resource] })),
    ),
  ]);
  assert.deepEqual((await get(`${clusterRoles}/system:heapster`)).rules, [extra]);
  assert.deepEqual(
    (await get(`${clusterRoleBindings}/system:kube-dns`)).subjects.map(({ name }: { name: string }) => name),
    ["me", "kube-dns"],
  );
  assert.equal((await get(`${clusterRoles}/view`)).aggregationRule.clusterRoleSelectors.length, 1);
  assert.equal((await get(`${clusterRoleBindings}/system:monitoring`)).roleRef.name, "system:monitoring");
});

test("each role is declared once, and each binding names a role that is declared", () => {
  const objects = bootstrapObjects();
  const id = (kind: string, namespace: string | undefined, name: string) =>
    `${kind} ${kind === "Role" ? namespace : ""} ${name}`;
  const ids = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""} ${metadata.name}`);
  assert.deepEqual(ids, [...new Set(ids)]);
  for (const { roleRef, metadata } of objects)
    if (roleRef) assert.ok(ids.includes(id(roleRef.kind, metadata.namespace, roleRef.name)), roleRef.name);
});
