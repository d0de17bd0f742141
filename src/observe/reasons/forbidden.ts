// Which rule is missing for what the server refused, by the words of its refusal:
//
//   pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "default"
import type { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import type { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import type { PolicyRule } from "#api/rbac/v1/policy-rule.ts";
import type { Role } from "#api/rbac/v1/role.ts";
import type { RoleBinding } from "#api/rbac/v1/role-binding.ts";
import type { Subject } from "#api/rbac/v1/subject.ts";
import type { Reason } from "./reason.ts";

/** What someone wanted to do. */
export interface Wish {
  readonly user: string;
  readonly verb: string;
  /** With its subresource: `pods/log`. Absent of a path. */
  readonly resource?: string;
  readonly group?: string;
  readonly path?: string;
  /** Absent for the whole cluster. */
  readonly namespace?: string;
  readonly name?: string;
}

const resourcePattern =
  /(?:(?<object>"[^"]+") is forbidden: )?User "(?<user>[^"]+)" cannot (?<verb>\S+) resource "(?<resource>[^"]+)" in API group "(?<group>[^"]*)" (?:in the namespace "(?<namespace>[^"]+)"|at the cluster scope)/;
const pathPattern = /User "(?<user>[^"]+)" cannot (?<verb>\S+) path "(?<path>[^"]+)"/;

/** What was refused, if the text is a refusal. */
export function wishIn(text: string): Wish | undefined {
  const { user, verb, resource, group, namespace, object } = resourcePattern.exec(text)?.groups ?? {};
  if (user && verb && resource)
    return {
      user,
      verb,
      resource,
      group: group ?? "",
      ...(namespace && { namespace }),
      ...(object && { name: object.slice(1, -1) }),
    };
  const { user: who, verb: what, path } = pathPattern.exec(text)?.groups ?? {};
  return who && what && path ? { user: who, verb: what, path } : undefined;
}

export interface Grants {
  readonly roles: readonly Role[];
  readonly clusterRoles: readonly ClusterRole[];
  readonly bindings: readonly RoleBinding[];
  readonly clusterBindings: readonly ClusterRoleBinding[];
}

export function refusalReason(wish: Wish, grants: Grants): Reason {
  const where = wish.namespace === undefined ? "" : ` in namespace ${wish.namespace}`;
  const what = `${wish.verb} ${wish.path ?? `${wish.resource}${wish.group ? `.${wish.group}` : ""}`}${wish.name ? ` ${wish.name}` : ""}${where}`;
  const held = heldBy(wish, grants);
  const giving = held.find(({ rules }) => rules.some((rule) => covers(rule, wish)));
  if (giving)
    return {
      code: "Allowed",
      state: "fine",
      says: `may ${what}: the refusal is out of date, or came from elsewhere than RBAC`,
      evidence: [{ from: giving.binding, says: `gives ${giving.role}, which allows it` }],
    };
  return {
    code: "Forbidden",
    state: "wrong",
    says: `may not ${what}: none of the ${held.length === 0 ? "bindings name it" : "roles it has allows that"}`,
    evidence: held
      .filter((one) => !isEverybodys(one, wish))
      .map(({ binding, role, rules }) => ({
        from: binding,
        says: `gives ${role}, ${nearestText(rules, wish)}`,
      })),
    remedies: remediesFor(wish, grants),
  };
}

/** Default roles of all users are shown only if they are about the same resource. */
const isEverybodys = ({ binding, rules }: PermissionFacts, wish: Wish): boolean =>
  binding.startsWith("ClusterRoleBinding system:") && !rules.some((rule) => hasResource(rule, wish));

interface PermissionFacts {
  readonly binding: string;
  readonly role: string;
  readonly rules: readonly PolicyRule[];
}

/** The roles that the user has where the wish is. Groups are known only as far as the name tells them. */
function heldBy(wish: Wish, { roles, clusterRoles, bindings, clusterBindings }: Grants): readonly PermissionFacts[] {
  const ruleset = (kind: string, name: string, namespace = ""): readonly PolicyRule[] =>
    (kind === "Role"
      ? roles.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace)?.rules
      : clusterRoles.find(({ metadata }) => metadata.name === name)?.rules) ?? [];
  const own = bindings.filter(
    ({ metadata, subjects = [] }) =>
      metadata.namespace === wish.namespace && subjects.some((one) => isUser(one, wish.user, metadata.namespace)),
  );
  const wide = clusterBindings.filter(({ subjects = [] }) => subjects.some((one) => isUser(one, wish.user)));
  return [
    ...own.map(({ metadata, roleRef }) => ({
      binding: `RoleBinding ${metadata.namespace}/${metadata.name}`,
      role: `${roleRef.kind} ${roleRef.name}`,
      rules: ruleset(roleRef.kind, roleRef.name, metadata.namespace),
    })),
    ...wide.map(({ metadata, roleRef }) => ({
      binding: `ClusterRoleBinding ${metadata.name}`,
      role: `ClusterRole ${roleRef.name}`,
      rules: ruleset("ClusterRole", roleRef.name),
    })),
  ];
}

const accountPattern = /^system:serviceaccount:([^:]+):([^:]+)$/;

function isUser({ kind, name, namespace }: Subject, user: string, bindingNamespace?: string): boolean {
  const [, home, account] = accountPattern.exec(user) ?? [];
  switch (kind) {
    case "User":
      return name === user || name === "*";
    case "ServiceAccount":
      return account !== undefined && name === account && (namespace || bindingNamespace) === home;
    case "Group":
      return (
        name === (user === "system:anonymous" ? "system:unauthenticated" : "system:authenticated") ||
        (home !== undefined && (name === "system:serviceaccounts" || name === `system:serviceaccounts:${home}`))
      );
    default:
      return false;
  }
}

const has = (list: readonly string[] | undefined, one: string): boolean =>
  list?.includes(one) === true || list?.includes("*") === true;

const hasResource = ({ resources, apiGroups }: PolicyRule, { resource = "", group = "" }: Wish): boolean => {
  const [, sub] = resource.split("/");
  return has(apiGroups, group) && (has(resources, resource) || (sub !== undefined && has(resources, `*/${sub}`)));
};

export function covers(rule: PolicyRule, wish: Wish): boolean {
  const { path, name } = wish;
  if (!has(rule.verbs, wish.verb)) return false;
  if (path !== undefined)
    return (
      rule.nonResourceURLs?.some((one) => one === path || (one.endsWith("*") && path.startsWith(one.slice(0, -1)))) ===
      true
    );
  const names = rule.resourceNames ?? [];
  return hasResource(rule, wish) && (names.length === 0 || (name !== undefined && names.includes(name)));
}

/** What of the rules comes nearest to the wish. */
function nearestText(rules: readonly PolicyRule[], wish: Wish): string {
  if (wish.path !== undefined) return "which does not have that path";
  const same = rules.filter((rule) => hasResource(rule, wish));
  const verbs = [
    ...new Set(same.filter(({ resourceNames = [] }) => resourceNames.length === 0).flatMap(({ verbs }) => verbs)),
  ];
  if (verbs.length > 0) return `which allows ${verbs.join(", ")} of ${wish.resource}, not ${wish.verb}`;
  const names = [...new Set(same.flatMap(({ resourceNames = [] }) => resourceNames))];
  return names.length > 0
    ? `which allows that only for ${names.join(", ")}`
    : `which says nothing about ${wish.resource}`;
}

const subjectFlag = (user: string): string => {
  const [, namespace, account] = accountPattern.exec(user) ?? [];
  return account === undefined ? `--user=${user}` : `--serviceaccount=${namespace}:${account}`;
};

/** cluster-admin and the like are never suggested for a single permission. */
const isEverything = ({ verbs, apiGroups = [], resources = [] }: PolicyRule): boolean =>
  [verbs, apiGroups, resources].every((list) => list.includes("*"));

/** The roles that are made for people come before those that a chart made for itself, however narrow these are. */
const forPeople = ["view", "edit", "admin"];
const rank = (role: string): number => (forPeople.includes(role) ? forPeople.indexOf(role) : forPeople.length);

/** How much a role gives: a star counts for many. */
const breadth = (rules: readonly PolicyRule[] = []): number =>
  rules.reduce((sum, { verbs, resources = [] }) => sum + size(verbs) * size(resources), 0);
const size = (list: readonly string[]): number => (list.includes("*") ? 100 : list.length);

/** The role that gives the least beside what is wanted is offered first; one of one's own gives nothing beside it. */
function remediesFor(wish: Wish, { roles, clusterRoles }: Grants): readonly string[] {
  const { namespace, verb, resource, group, path, name } = wish;
  const fitting = [
    ...(namespace === undefined ? [] : roles.filter(({ metadata }) => metadata.namespace === namespace)),
    ...clusterRoles,
  ]
    .filter(({ metadata, rules }) => !metadata.name.startsWith("system:") && rules?.some((rule) => covers(rule, wish)))
    .filter(({ rules = [] }) => !rules.some(isEverything))
    .toSorted((a, b) => rank(a.metadata.name) - rank(b.metadata.name) || breadth(a.rules) - breadth(b.rules));
  const [best] = fitting;
  const bind = (role: string): string =>
    namespace === undefined
      ? `kubectl create clusterrolebinding NAME ${role} ${subjectFlag(wish.user)}`
      : `kubectl create rolebinding NAME ${role} ${subjectFlag(wish.user)} -n ${namespace}`;
  const target =
    path === undefined
      ? `--resource=${resource?.replace(/^([^/]+)/, `$1${group ? `.${group}` : ""}`)}${name ? ` --resource-name=${name}` : ""}`
      : `--non-resource-url=${path}`;
  const kind = namespace === undefined ? "clusterrole" : "role";
  return [
    `make a role for just that: kubectl create ${kind} NAME --verb=${verb} ${target}${namespace === undefined ? "" : ` -n ${namespace}`}; then ${bind(`--${kind}=NAME`)}`,
    ...(best
      ? [`or give it the role ${best.metadata.name}: ${bind(`--${best.kind.toLowerCase()}=${best.metadata.name}`)}`]
      : []),
  ];
}
