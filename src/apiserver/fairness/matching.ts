// Which flow schema a request falls under: the first that has a rule for who asks and what for.
// Upstream: staging/src/k8s.io/apiserver/pkg/util/flowcontrol/rule.go.
import type {
  FlowSchema,
  NonResourcePolicyRule,
  ResourcePolicyRule,
  Subject,
} from "#api/flowcontrol/v1/flow-schema.ts";
import type { ResourceAddress, User } from "#wire/api-request.ts";

/** What is asked. */
export type Target =
  | { readonly type: "resource"; readonly verb: string; readonly address: ResourceAddress }
  | { readonly type: "path"; readonly verb: string; readonly path: string };

/** A schema and what it leads to. */
export interface SchemaCandidate<T> {
  readonly schema: Pick<FlowSchema, "spec">;
  readonly flow: T;
}

/** What may match the requests of one user, in order. */
interface UserRules<T> {
  readonly groups: readonly string[];
  readonly resource: readonly RuleOf<T, ResourcePolicyRule>[];
  readonly path: readonly RuleOf<T, NonResourcePolicyRule>[];
}

interface RuleOf<T, R> {
  readonly rules: readonly R[];
  readonly flow: T;
}

const mostUsers = 1000;

/** Finds the flow of a request. What concerns a user is remembered: most schemas are about others. */
export class Classifier<T> {
  readonly #candidates: readonly SchemaCandidate<T>[];
  readonly #fallback: T;
  readonly #users = new Map<string, UserRules<T>>();

  /** Candidates in the order in which they are tried; the fallback is for requests of users who are in no group at all. */
  constructor(candidates: readonly SchemaCandidate<T>[], fallback: T) {
    this.#candidates = candidates;
    this.#fallback = fallback;
  }

  flowOf(user: User, target: Target): T {
    const { resource, path } = this.#rulesOf(user);
    if (target.type === "path") {
      for (const { rules, flow } of path) for (const rule of rules) if (matchesPath(rule, target)) return flow;
    } else
      for (const { rules, flow } of resource) for (const rule of rules) if (matchesResource(rule, target)) return flow;
    return this.#fallback;
  }

  #rulesOf(user: User): UserRules<T> {
    const known = this.#users.get(user.name);
    if (known && isSame(known.groups, user.groups)) return known;
    if (this.#users.size >= mostUsers) this.#users.clear();
    const concerned = this.#candidates.flatMap(({ schema, flow }) =>
      (schema.spec.rules ?? [])
        .filter(({ subjects }) => subjects.some((subject) => matchesSubject(subject, user)))
        .map(({ resourceRules = [], nonResourceRules = [] }) => ({ resourceRules, nonResourceRules, flow })),
    );
    const rules: UserRules<T> = {
      groups: user.groups,
      resource: concerned.flatMap(({ resourceRules: rules, flow }) => (rules.length > 0 ? [{ rules, flow }] : [])),
      path: concerned.flatMap(({ nonResourceRules: rules, flow }) => (rules.length > 0 ? [{ rules, flow }] : [])),
    };
    this.#users.set(user.name, rules);
    return rules;
  }
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export function matchesSubject({ user, group, serviceAccount }: Subject, { name, groups }: User): boolean {
  if (user) return user.name === "*" || user.name === name;
  if (group) return group.name === "*" || groups.includes(group.name);
  if (!serviceAccount) return false;
  const inNamespace = `system:serviceaccount:${serviceAccount.namespace}:`;
  return serviceAccount.name === "*" ? name.startsWith(inNamespace) : name === inNamespace + serviceAccount.name;
}

export function matchesResource(
  { verbs, apiGroups, resources, namespaces, clusterScope }: ResourcePolicyRule,
  { verb, address }: Target & { readonly type: "resource" },
): boolean {
  const { group, resource, subresource, namespace } = address;
  return (
    includes(verbs, verb) &&
    (isAll(resources) || resources.includes(subresource === undefined ? resource : `${resource}/${subresource}`)) &&
    includes(apiGroups, group) &&
    (namespace === undefined ? clusterScope === true : includes(namespaces ?? [], namespace))
  );
}

export const matchesPath = (
  { verbs, nonResourceURLs }: NonResourcePolicyRule,
  { verb, path }: Target & { readonly type: "path" },
): boolean =>
  includes(verbs, verb) && nonResourceURLs.some((url) => url === "*" || url === path || path.startsWith(under(url)));

/** What stands under a path matches, too, whether or not the path ends in a star. */
function under(url: string): string {
  const prefix = url.endsWith("*") ? url.slice(0, -1) : url;
  return prefix.endsWith("/") ? prefix : `${prefix}/`;
}

const isAll = (values: readonly string[]): boolean => values.length === 1 && values[0] === "*";
const includes = (values: readonly string[], value: string): boolean => isAll(values) || values.includes(value);

/** Lower precedence first, then by name. */
export function inMatchingOrder(schemas: readonly FlowSchema[]): readonly FlowSchema[] {
  const precedence = ({ spec }: FlowSchema) => spec.matchingPrecedence;
  const name = ({ metadata }: FlowSchema) => metadata.name ?? "";
  return schemas.toSorted((a, b) => precedence(a) - precedence(b) || (name(a) < name(b) ? -1 : 1));
}
