// Which rules of a role allow what others do not (upstream: component-helpers/auth/rbac/validation, Covers).

export type AccessRule = Readonly<Record<string, unknown>>;

const list = (rule: AccessRule, field: string): readonly string[] => {
  const value = rule[field];
  return Array.isArray(value) ? value.map(String) : [];
};

/** Each with one verb, one group, one resource and at most one name. */
function parts(rule: AccessRule): readonly AccessRule[] {
  const names = list(rule, "resourceNames");
  const resources = list(rule, "apiGroups").flatMap((apiGroup) =>
    list(rule, "resources").flatMap((resource) =>
      list(rule, "verbs").flatMap((verb) =>
        (names.length === 0 ? [undefined] : names).map((name) => ({
          verbs: [verb],
          apiGroups: [apiGroup],
          resources: [resource],
          ...(name !== undefined && { resourceNames: [name] }),
        })),
      ),
    ),
  );
  const urls = list(rule, "nonResourceURLs").flatMap((url) =>
    list(rule, "verbs").map((verb) => ({ verbs: [verb], nonResourceURLs: [url] })),
  );
  return [...resources, ...urls];
}

/** What of `want` none of `have` allows, in small rules. */
export const missingRules = (have: readonly AccessRule[], want: readonly AccessRule[]): readonly AccessRule[] =>
  want.flatMap(parts).filter((part) => !have.some((rule) => covers(rule, part)));

function covers(rule: AccessRule, part: AccessRule): boolean {
  const all = (field: string, star = "*") => {
    const owned = list(rule, field);
    return owned.includes(star) || list(part, field).every((one) => owned.includes(one));
  };
  if (!all("verbs")) return false;
  if (list(part, "nonResourceURLs").length > 0)
    return list(part, "nonResourceURLs").every((url) =>
      list(rule, "nonResourceURLs").some(
        (own) => own === url || (own.endsWith("*") && url.startsWith(own.slice(0, -1))),
      ),
    );
  const isResource = list(part, "resources").every((one) => {
    const owned = list(rule, "resources");
    const [, sub] = one.split("/");
    return owned.includes("*") || owned.includes(one) || (sub !== undefined && owned.includes(`*/${sub}`));
  });
  const names = list(rule, "resourceNames");
  const wanted = list(part, "resourceNames");
  const isNamed = names.length === 0 || (wanted.length > 0 && wanted.every((one) => names.includes(one)));
  return all("apiGroups") && isResource && isNamed;
}

/** As Go prints a struct with the names of its fields. */
export function ruleText(rule: AccessRule, isSubject: boolean): string {
  if (isSubject) {
    const apiGroup = rule.apiGroup ?? (rule.kind === "ServiceAccount" ? "" : "rbac.authorization.k8s.io");
    return `{Kind:${rule.kind} APIGroup:${String(apiGroup)} Name:${rule.name} Namespace:${String(rule.namespace ?? "")}}`;
  }
  const text = (field: string) => `[${list(rule, field).join(" ")}]`;
  return `{Verbs:${text("verbs")} APIGroups:${text("apiGroups")} Resources:${text("resources")} ResourceNames:${text("resourceNames")} NonResourceURLs:${text("nonResourceURLs")}}`;
}
