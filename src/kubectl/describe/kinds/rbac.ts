import type { PolicyRule } from "#api/rbac/v1/policy-rule.ts";
import type { Role } from "#api/rbac/v1/role.ts";
import type { RoleBinding } from "#api/rbac/v1/role-binding.ts";
import { compareText } from "../../go/value.ts";
import { writeTags } from "../common.ts";
import type { Describer } from "../describer.ts";

/** One resource or path, of which the verbs are told together. */
interface PlainRule {
  readonly group: readonly string[];
  readonly resource: readonly string[];
  readonly resourceName: readonly string[];
  readonly path: readonly string[];
  readonly verbs: readonly string[];
}

export const describeRole: Describer<Pick<Role, "metadata" | "rules">> = async ({ metadata, rules }, _context, w) => {
  w.line(0, "Name:", metadata.name);
  writeTags(w, metadata);
  w.line(0, "PolicyRule:");
  w.line(1, "Resources", "Non-Resource URLs", "Resource Names", "Verbs");
  w.line(1, "---------", "-----------------", "--------------", "-----");
  for (const { group, resource, resourceName, path, verbs } of compactRules(rules ?? []))
    w.line(1, qualified(resource[0], group[0]), ...[path, resourceName, verbs].map((list) => `[${list.join(" ")}]`));
};

/** Rules of one resource become one; those of paths stay apart, verb by verb. */
function compactRules(rules: readonly PolicyRule[]): readonly PlainRule[] {
  const byResource = new Map<string, PlainRule>();
  const others: PlainRule[] = [];
  for (const rule of rules.flatMap(plainRules)) {
    if (rule.path.length > 0) {
      others.push(rule);
      continue;
    }
    const key = JSON.stringify([rule.group, rule.resource, rule.resourceName]);
    const before = byResource.get(key);
    const verbs = [...new Set([...(before?.verbs ?? []), ...rule.verbs])];
    byResource.set(key, { ...rule, verbs });
  }
  return [...others, ...byResource.values()].toSorted((a, b) => compareText(sortText(a), sortText(b)));
}

function plainRules({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs }: PolicyRule) {
  const names = resourceNames.length === 0 ? [[]] : resourceNames.map((name) => [name]);
  const plain: PlainRule[] = [];
  for (const group of apiGroups)
    for (const resource of resources)
      for (const verb of verbs)
        for (const resourceName of names)
          plain.push({ group: [group], resource: [resource], resourceName, path: [], verbs: [verb] });
  for (const path of nonResourceURLs)
    for (const verb of verbs) plain.push({ group: [], resource: [], resourceName: [], path: [path], verbs: [verb] });
  return plain;
}

/** As Go prints the struct, by which upstream sorts. */
const sortText = ({ verbs, group, resource, resourceName, path }: PlainRule): string => {
  const list = (values: readonly string[]) => `[${values.join(" ")}]`;
  return `&PolicyRule{Verbs:${list(verbs)},APIGroups:${list(group)},Resources:${list(resource)},ResourceNames:${list(resourceName)},NonResourceURLs:${list(path)},}`;
};

/** `deployments.apps/scale`. */
function qualified(resource = "", group = ""): string {
  const [name = "", ...rest] = resource.split("/");
  return `${name}${group === "" ? "" : `.${group}`}${rest.length === 0 ? "" : `/${rest.join("/")}`}`;
}

type Binding = Pick<RoleBinding, "metadata" | "roleRef" | "subjects">;

export const describeBinding: Describer<Binding> = async ({ metadata, roleRef, subjects }, _context, w) => {
  w.line(0, "Name:", metadata.name);
  writeTags(w, metadata);
  w.line(0, "Role:");
  w.line(1, "Kind:", roleRef.kind);
  w.line(1, "Name:", roleRef.name);
  w.line(0, "Subjects:");
  w.line(1, "Kind", "Name", "Namespace");
  w.line(1, "----", "----", "---------");
  for (const { kind, name, namespace = "" } of subjects ?? []) w.line(1, kind, name, namespace);
};
