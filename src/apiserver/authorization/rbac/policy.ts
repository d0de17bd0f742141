// Who may do what, by roles and bindings. Bindings are indexed by the subjects they name, and the index follows the watch caches,
// so a question costs as much as the asking user has bindings, however many there are in the cluster.
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import { Role } from "#api/rbac/v1/role.ts";
import { RoleBinding } from "#api/rbac/v1/role-binding.ts";
import type { Subject } from "#api/rbac/v1/subject.ts";
import type { ApiObject } from "#schema/object.ts";
import type { AuthorizationVerdict, Question } from "#serving/authorization.ts";
import type { User } from "#wire/api-request.ts";
import { keyPrefix } from "../../store-follower.ts";
import type { CacheOf, WatchCache } from "../../watch-cache.ts";
import { type Rule, ruleAllows } from "./rules.ts";

export interface RoleReference {
  readonly kind: string;
  readonly name: string;
}

export interface RulesOfUser {
  readonly rules: readonly Rule[];
  /** Why there may be more rules than these: roles that bindings name and nobody has made. */
  readonly errors: readonly string[];
}

/** Rules as they are listed to the user; other authorizers than roles may allow more. */
export interface ListedRules extends RulesOfUser {
  readonly incomplete: boolean;
}

export const noRules: RulesOfUser = { rules: [], errors: [] };

/** A binding as it concerns one of its subjects. */
interface Grant {
  readonly binding: ApiObject;
  readonly subject: Subject;
}

/** By namespace of the binding ("" for the whole cluster), then by who is named, then by the binding's name. */
type Grants = Map<string, Map<string, Map<string, Grant>>>;

export class RbacPolicy {
  readonly #roles: WatchCache;
  readonly #clusterRoles: WatchCache;
  readonly #grants: Grants = new Map();

  constructor(cacheOf: CacheOf) {
    this.#roles = cacheOf(Role);
    this.#clusterRoles = cacheOf(ClusterRole);
    for (const kind of [ClusterRoleBinding, RoleBinding]) this.#follow(cacheOf(kind), kind === RoleBinding);
  }

  authorize(question: Question): AuthorizationVerdict {
    const errors: string[] = [];
    const namespace = question.type === "resource" ? question.namespace : undefined;
    for (const grant of this.#grantsOf(question.user, namespace)) {
      const rules = this.#rulesOf(grant.binding, errors);
      if (rules.some((rule) => ruleAllows(rule, question)))
        return { decision: "allow", reason: `RBAC: allowed by ${describeGrant(grant)}` };
    }
    return { decision: "none", ...(errors.length > 0 && { reason: `RBAC: ${joinErrors(errors)}` }) };
  }

  /** All that a user may do in a namespace, or in the cluster as a whole if none is named. */
  rulesFor(user: User, namespace: string | undefined): RulesOfUser {
    const errors: string[] = [];
    const rules = [...this.#grantsOf(user, namespace)].flatMap(({ binding }) => this.#rulesOf(binding, errors));
    return { rules, errors };
  }

  /** The rules a binding in that namespace would give, or undefined if there is no such role. */
  rulesOfRole({ kind, name }: RoleReference, namespace: string | undefined): readonly Rule[] | undefined {
    const stored =
      kind === "Role"
        ? this.#roles.get(`${keyPrefix(Role)}${namespace ?? ""}/${name}`)
        : this.#clusterRoles.get(keyPrefix(ClusterRole) + name);
    return stored && (stored.object.rules ?? []);
  }

  #rulesOf({ roleRef, metadata }: ApiObject, errors: string[]): readonly Rule[] {
    const rules = this.rulesOfRole(roleRef, metadata.namespace);
    if (!rules) errors.push(missingRole(roleRef));
    return rules ?? [];
  }

  *#grantsOf({ name, groups }: User, namespace: string | undefined): Generator<Grant> {
    const seen = new Set<ApiObject>();
    for (const place of namespace ? ["", namespace] : [""]) {
      const bySubject = this.#grants.get(place);
      if (!bySubject) continue;
      for (const subject of [`u:${name}`, ...groups.map((group) => `g:${group}`)])
        for (const grant of bySubject.get(subject)?.values() ?? []) {
          if (seen.has(grant.binding)) continue;
          seen.add(grant.binding);
          yield grant;
        }
    }
  }

  #follow(cache: WatchCache, namespaced: boolean): void {
    const fill = () => {
      for (const place of [...this.#grants.keys()]) if ((place !== "") === namespaced) this.#grants.delete(place);
      for (const [, { object }] of cache.range(cache.prefix)) this.#add(object);
    };
    cache.listen({
      reset: fill,
      events: (events) => {
        for (const { previous, current } of events) {
          if (previous) this.#remove(previous.object);
          if (current) this.#add(current.object);
        }
      },
    });
    fill();
  }

  #add(binding: ApiObject): void {
    const { namespace = "", name = "" } = binding.metadata;
    const bySubject = innerMap(this.#grants, namespace);
    for (const subject of (binding.subjects ?? []) as readonly Subject[]) {
      const who = subjectKey(subject, namespace);
      if (who === undefined) continue;
      const grants = innerMap(bySubject, who);
      // The first subject that applies is the one that is named as the reason.
      if (grants.get(name)?.binding !== binding) grants.set(name, { binding, subject });
    }
  }

  #remove(binding: ApiObject): void {
    const { namespace = "", name = "" } = binding.metadata;
    const bySubject = this.#grants.get(namespace);
    if (!bySubject) return;
    for (const subject of (binding.subjects ?? []) as readonly Subject[]) {
      const who = subjectKey(subject, namespace) ?? "";
      const grants = bySubject.get(who);
      grants?.delete(name);
      if (grants?.size === 0) bySubject.delete(who);
    }
    if (bySubject.size === 0) this.#grants.delete(namespace);
  }
}

function innerMap<V>(maps: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const present = maps.get(key);
  if (present) return present;
  const fresh = new Map<string, V>();
  maps.set(key, fresh);
  return fresh;
}

/** Whom a subject means. A service account is a user with a name of a certain form; without a namespace it is one beside the binding. */
function subjectKey({ kind, name, namespace }: Subject, ofBinding: string): string | undefined {
  if (kind === "User") return `u:${name}`;
  if (kind === "Group") return `g:${name}`;
  const place = namespace || ofBinding;
  return kind === "ServiceAccount" && place ? `u:system:serviceaccount:${place}:${name}` : undefined;
}

const missingRole = ({ kind, name }: RoleReference): string =>
  kind === "Role" || kind === "ClusterRole"
    ? `${kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(name)} not found`
    : `unsupported role reference kind: ${JSON.stringify(kind)}`;

export function joinErrors(errors: readonly string[]): string {
  const different = [...new Set(errors)];
  return different.length === 1 ? (different[0] ?? "") : `[${different.join(", ")}]`;
}

function describeGrant({ binding, subject }: Grant): string {
  const { name = "", namespace } = binding.metadata;
  const { kind, name: role }: RoleReference = binding.roleRef;
  const who =
    subject.kind === "ServiceAccount" ? `${subject.name}/${subject.namespace || (namespace ?? "")}` : subject.name;
  const of = JSON.stringify(namespace ? `${name}/${namespace}` : name);
  return `${namespace ? "RoleBinding" : "ClusterRoleBinding"} ${of} of ${kind} ${JSON.stringify(role)} to ${subject.kind} ${JSON.stringify(who)}`;
}
