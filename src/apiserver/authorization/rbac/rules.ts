// What a rule of a role covers: a request, or another rule.
import type { PolicyRule } from "#api/rbac/v1/policy-rule.ts";
import type { Question } from "#serving/authorization.ts";

/** A rule as it is stored; what is empty may be absent. */
export type Rule = Pick<PolicyRule, "verbs"> & Partial<PolicyRule>;

export function ruleAllows(rule: Rule, question: Question): boolean {
  if (!rule.verbs.includes("*") && !rule.verbs.includes(question.verb)) return false;
  if (question.type === "path")
    return (rule.nonResourceURLs ?? []).some((url) => url === "*" || urlCovers(url, question.path));
  const { group, resource, subresource, name = "" } = question;
  const { apiGroups = [], resources = [], resourceNames = [] } = rule;
  if (!apiGroups.includes("*") && !apiGroups.includes(group)) return false;
  if (resourceNames.length > 0 && !resourceNames.includes(name)) return false;
  const whole = subresource ? `${resource}/${subresource}` : resource;
  return resources.some((one) => one === "*" || one === whole || (subresource && one === `*/${subresource}`));
}

/** `/healthz/*` covers all that starts with `/healthz/`. */
const urlCovers = (owner: string, path: string): boolean =>
  owner === path || (owner.endsWith("*") && path.startsWith(owner.replace(/\*+$/, "")));

/** What `servants` allow and `owners` do not, as rules of one verb on one thing each. */
export function uncovered(owners: readonly Rule[], servants: readonly Rule[]): readonly Rule[] {
  return servants.flatMap(atoms).filter((atom) => !owners.some((owner) => ruleCovers(owner, atom)));
}

/** Cut so small that each part is either covered by one rule or not at all. */
function atoms({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: Rule): Rule[] {
  const result: Rule[] = [];
  for (const group of apiGroups)
    for (const resource of resources)
      for (const verb of verbs) {
        const atom: Rule = { apiGroups: [group], resources: [resource], verbs: [verb] };
        if (resourceNames.length === 0) result.push(atom);
        else for (const name of resourceNames) result.push({ ...atom, resourceNames: [name] });
      }
  for (const url of nonResourceURLs) for (const verb of verbs) result.push({ nonResourceURLs: [url], verbs: [verb] });
  return result;
}

function ruleCovers(owner: Rule, atom: Rule): boolean {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = owner;
  const hasAll = (have: readonly string[], wanted: readonly string[] = []) => wanted.every((one) => have.includes(one));
  if (!owner.verbs.includes("*") && !hasAll(owner.verbs, atom.verbs)) return false;
  if (!apiGroups.includes("*") && !hasAll(apiGroups, atom.apiGroups)) return false;
  if (resourceNames.length > 0 && !(atom.resourceNames?.length && hasAll(resourceNames, atom.resourceNames)))
    return false;
  return (
    (resources.includes("*") || (atom.resources ?? []).every((one) => resourceCovered(resources, one))) &&
    (atom.nonResourceURLs ?? []).every((url) => nonResourceURLs.some((one) => urlCovers(one, url)))
  );
}

function resourceCovered(resources: readonly string[], wanted: string): boolean {
  if (resources.includes(wanted)) return true;
  const slash = wanted.indexOf("/");
  return slash >= 0 && resources.includes(`*${wanted.slice(slash)}`);
}

/** Small rules for a person: the verbs of one thing together, each as a line, sorted. */
export function describeRules(rules: readonly Rule[]): string {
  const lines = [...Map.groupBy(rules, ({ verbs: _verbs, ...thing }) => JSON.stringify(thing)).values()].flatMap(
    (same) => {
      const [first] = same;
      if (first === undefined) return [];
      // Verbs on paths are told one by one, as upstream does.
      if (first.nonResourceURLs?.length) return same.map(describeRule);
      return [describeRule({ ...first, verbs: same.flatMap(({ verbs }) => verbs) })];
    },
  );
  return [...new Set(lines)].sort().join("\n");
}

function describeRule({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: Rule): string {
  const parts = [
    ["APIGroups", apiGroups],
    ["Resources", resources],
    ["NonResourceURLs", nonResourceURLs],
    ["ResourceNames", resourceNames],
    ["Verbs", verbs],
  ] as const;
  const texts = parts.flatMap(([name, values]) => (values?.length ? [`${name}:${quotedList(values)}`] : []));
  return `{${texts.join(", ")}}`;
}

/** `["a" "b"]`, as upstream writes lists in its messages. */
export const quotedList = (values: readonly string[]): string =>
  `[${values.map((value) => JSON.stringify(value)).join(" ")}]`;
