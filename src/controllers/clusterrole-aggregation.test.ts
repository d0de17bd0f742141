import assert from "node:assert/strict";
import { test } from "node:test";
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { clusterRoleAggregationController as aggregation } from "./clusterrole-aggregation.ts";

const rule = (...resources: string[]) => ({ verbs: ["get"], apiGroups: [""], resources });
const have = (w: ClientWorld, name: string, labels: Record<string, string>, ...rules: ReturnType<typeof rule>[]) =>
  w.have(ClusterRole, { metadata: { name, labels }, rules });
const hub = (w: ClientWorld, selectors: Record<string, string>[], ...rules: ReturnType<typeof rule>[]) =>
  w.have(ClusterRole, {
    metadata: { name: "hub", labels: { to: "hub" } },
    aggregationRule: { clusterRoleSelectors: selectors.map((matchLabels) => ({ matchLabels })) },
    rules,
  });
/** Which rules were written, none if none were. */
async function filled(w: ClientWorld, role: ClusterRole) {
  let body: { rules?: readonly { resources?: readonly string[] }[] } | undefined;
  w.fail((request) => {
    if (request.verb === "patch") body = request.body?.value() as typeof body;
    return undefined;
  });
  try {
    await w.reconcile(aggregation, role);
  } catch (error) {
    if (!/apply/.test(String(error))) throw error; // the map of a test knows no server-side apply
  }
  return body?.rules?.map(({ resources }) => resources?.join());
}

test("rules of selected roles are collected in the order of their names, each once, without the role's own", async () => {
  const w = world();
  have(w, "b", { to: "hub" }, rule("pods"), rule("services"));
  have(w, "a", { to: "hub" }, rule("services"), rule("secrets"));
  have(w, "c", { to: "elsewhere" }, rule("nodes"));
  assert.deepEqual(await filled(w, hub(w, [{ to: "hub" }], rule("old"))), ["services", "secrets", "pods"]);
});

test("selectors are gone through one after the other", async () => {
  const w = world();
  have(w, "a", { to: "first" }, rule("pods"));
  have(w, "b", { to: "second" }, rule("secrets"));
  assert.deepEqual(await filled(w, hub(w, [{ to: "second" }, { to: "first" }])), ["secrets", "pods"]);
});

test("a role that is right is left alone, and so is one that collects nothing", async () => {
  const w = world();
  have(w, "a", { to: "hub" }, rule("pods"));
  assert.equal(await filled(w, hub(w, [{ to: "hub" }], rule("pods"))), undefined);
  assert.equal(await filled(w, have(w, "plain", {}, rule("pods"))), undefined);
});

test("what nobody gives any more is taken away", async () => {
  const w = world();
  assert.deepEqual(await filled(w, hub(w, [{ to: "hub" }], rule("pods"))), []);
});
