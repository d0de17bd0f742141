import assert from "node:assert/strict";
import { test } from "node:test";
import { bootstrapObjects } from "#apiserver/authorization/rbac/bootstrap/objects.ts";
import { facts, missing } from "./facts.ts";

interface RoleFact {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly aggregate?: readonly Readonly<Record<string, string>>[];
  readonly rules: readonly Readonly<Record<"g" | "r" | "n" | "u" | "v", readonly string[] | undefined>>[];
}
interface BindingFact {
  readonly name: string;
  readonly namespace?: string;
  readonly roleRef: string;
  readonly subjects: readonly Readonly<Record<string, string>>[];
}
type Facts = Readonly<Record<"clusterRoles" | "controllerRoles" | "namespaceRoles", readonly RoleFact[]>> &
  Readonly<Record<"clusterRoleBindings" | "controllerRoleBindings" | "namespaceRoleBindings", readonly BindingFact[]>>;

const sorted = (texts: readonly unknown[]) => texts.map((one) => JSON.stringify(one)).sort();

test("the roles of every cluster are upstream's", { skip: missing }, () => {
  const { clusterRoles, controllerRoles, namespaceRoles } = facts<Facts>("rbac");
  const expected = [...clusterRoles, ...controllerRoles, ...namespaceRoles].map((role) => [
    role.namespace ?? "",
    role.name,
    Object.keys(role.labels ?? {}),
    role.aggregate ?? [],
    sorted(role.rules.map(({ g = [], r = [], n = [], u = [], v = [] }) => [g, r, n, u, v])),
  ]);
  const ours = bootstrapObjects()
    .filter(({ kind = "" }) => kind.endsWith("Role"))
    .map(({ metadata, rules, aggregationRule }) => [
      metadata.namespace ?? "",
      metadata.name,
      Object.keys(metadata.labels ?? {}).filter((label) => label !== "kubernetes.io/bootstrapping"),
      (aggregationRule?.clusterRoleSelectors ?? []).map(({ matchLabels }: { matchLabels: object }) => matchLabels),
      sorted(
        rules.map((rule: Readonly<Record<string, readonly string[] | undefined>>) =>
          ["apiGroups", "resources", "resourceNames", "nonResourceURLs", "verbs"].map((field) => rule[field] ?? []),
        ),
      ),
    ]);
  assert.deepEqual(sorted(ours), sorted(expected));
});

test("the bindings of every cluster are upstream's", { skip: missing }, () => {
  const { clusterRoleBindings, controllerRoleBindings, namespaceRoleBindings } = facts<Facts>("rbac");
  const subjectsOf = (subjects: readonly Readonly<Record<string, string>>[] = []) =>
    subjects.map(({ kind, name, namespace = "" }) => [kind, name, namespace]);
  const expected = [...clusterRoleBindings, ...controllerRoleBindings, ...namespaceRoleBindings].map(
    ({ namespace = "", name, roleRef, subjects }) => [namespace, name, roleRef, subjectsOf(subjects)],
  );
  const ours = bootstrapObjects()
    .filter(({ kind = "" }) => kind.endsWith("Binding"))
    .map(({ metadata, roleRef, subjects }) => [
      metadata.namespace ?? "",
      metadata.name,
      `${roleRef.kind}/${roleRef.name}`,
      subjectsOf(subjects),
    ]);
  assert.deepEqual(sorted(ours), sorted(expected));
});
