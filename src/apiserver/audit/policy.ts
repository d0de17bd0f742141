// Which requests are recorded, and how much of each: the rules of an audit.k8s.io/v1 Policy. The first rule that matches decides, and none
// means nothing. Follows k8s.io/apiserver/pkg/audit/policy.
import { dns1123Subdomain } from "#schema/formats.ts";
import type { Question } from "#serving/authorization.ts";
import type { User } from "#wire/api-request.ts";
import { ConfigReader, parseConfig } from "../config-reader.ts";
import { type AuditLevel, type AuditStage, auditLevels, auditStages } from "./event.ts";

/** What is recorded of a request. */
export interface AuditRule {
  readonly level: AuditLevel;
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean;
}

/** What a policy decides by; undefined of a user is a client that nobody knows. */
export type AuditSubject = Pick<Question, "verb"> & { readonly user: User | undefined } & (
    | Pick<Extract<Question, { type: "path" }>, "type" | "path">
    | Omit<Extract<Question, { type: "resource" }>, "user" | "verb">
  );

export type AuditPolicy = (subject: AuditSubject) => AuditRule;

interface GroupResources {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

interface PolicyRule extends AuditRule {
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  readonly namespaces: readonly string[];
  readonly nonResourceUrls: readonly string[];
}

/** Reads a policy. Throws an Error that names all that is wrong with it; `warn` is told of what is unknown in it. */
export function parseAuditPolicy(text: string, warn: (text: string) => void): AuditPolicy {
  const reader = new PolicyReader(warn);
  const rules = reader.read(text);
  return (subject) => rules.find((rule) => matches(rule, subject)) ?? reader.fallback;
}

const listOrAll = (list: readonly string[], value: string): boolean => list.length === 0 || list.includes(value);

function matches(rule: PolicyRule, subject: AuditSubject): boolean {
  const { user } = subject;
  if (rule.users.length > 0 && !(user && rule.users.includes(user.name))) return false;
  if (rule.userGroups.length > 0 && !user?.groups.some((group) => rule.userGroups.includes(group))) return false;
  if (!listOrAll(rule.verbs, subject.verb)) return false;
  if (rule.namespaces.length > 0 || rule.resources.length > 0)
    return subject.type === "resource" && matchesResource(rule, subject);
  if (rule.nonResourceUrls.length > 0)
    return subject.type === "path" && rule.nonResourceUrls.some((spec) => matchesPath(subject.path, spec));
  return true;
}

const matchesPath = (path: string, spec: string): boolean =>
  spec === path || (spec.endsWith("*") && path.startsWith(spec.slice(0, -1)));

function matchesResource(
  { namespaces, resources }: PolicyRule,
  { namespace = "", group, resource, subresource = "", name = "" }: Extract<AuditSubject, { type: "resource" }>,
): boolean {
  if (!listOrAll(namespaces, namespace)) return false;
  if (resources.length === 0) return true;
  const combined = subresource === "" ? resource : `${resource}/${subresource}`;
  return resources.some((one) => {
    if (one.group !== group && one.group !== "*") return false;
    if (one.resources.length === 0) return true;
    if (!listOrAll(one.resourceNames, name)) return false;
    return one.resources.some(
      (named) =>
        named === "*" ||
        named === combined ||
        named === `${resource}/*` ||
        (subresource !== "" && named === `*/${subresource}`),
    );
  });
}

class PolicyReader {
  readonly #config: ConfigReader;
  fallback: AuditRule = { level: "None", omitStages: [], omitManagedFields: false };

  constructor(warn: (text: string) => void) {
    this.#config = new ConfigReader({ unknown: warn });
  }

  read(text: string): readonly PolicyRule[] {
    const policy = this.#config.fields(parseConfig(text), "", policyFields);
    if (policy.kind !== "Policy" || policy.apiVersion !== "audit.k8s.io/v1")
      throw new Error(
        `unknown group version field ${JSON.stringify(policy.apiVersion ?? "")}, Kind=${JSON.stringify(policy.kind ?? "")} in policy`,
      );
    const omitStages = this.#stages(policy.omitStages, "omitStages");
    const omitManagedFields = this.#config.boolean(policy.omitManagedFields, "omitManagedFields") ?? false;
    this.fallback = { level: "None", omitStages, omitManagedFields };
    const rules = this.#config.list(policy.rules, "rules").map((rule, i) => this.#rule(rule, `rules[${i}]`));
    this.#config.refuseProblems();
    if (rules.length === 0) throw new Error("loaded illegal policy with 0 rules");
    return rules;
  }

  #rule(value: unknown, at: string): PolicyRule {
    const rule = this.#config.fields(value, at, ruleFields);
    const texts = (field: string) => this.#config.texts(rule[field], `${at}.${field}`);
    const nonResourceUrls = texts("nonResourceURLs");
    for (const [i, url] of nonResourceUrls.entries()) this.#checkUrl(url, `${at}.nonResourceURLs[${i}]`);
    const resources = this.#config
      .list(rule.resources, `${at}.resources`)
      .map((one, i) => this.#groupResources(one, `${at}.resources[${i}]`, `${at}.resources`));
    const namespaces = texts("namespaces");
    if (nonResourceUrls.length > 0 && (resources.length > 0 || namespaces.length > 0))
      this.#config.invalid(
        `${at}.nonResourceURLs`,
        nonResourceUrls,
        "rules cannot apply to both regular resources and non-resource URLs",
      );
    return {
      level: this.#config.oneOf(auditLevels, rule.level, `${at}.level`),
      users: texts("users"),
      userGroups: texts("userGroups"),
      verbs: texts("verbs"),
      resources,
      namespaces,
      nonResourceUrls,
      omitStages: [...this.fallback.omitStages, ...this.#stages(rule.omitStages, `${at}.omitStages`)],
      omitManagedFields:
        this.#config.boolean(rule.omitManagedFields, `${at}.omitManagedFields`) ?? this.fallback.omitManagedFields,
    };
  }

  #groupResources(value: unknown, at: string, list: string): GroupResources {
    const fields = this.#config.fields(value, at, groupFields);
    const group = this.#config.text(fields.group, `${at}.group`);
    if (group !== "" && group !== "*") {
      const why = [...dns1123Subdomain(group)];
      if (why.length > 0) this.#config.invalid(`${list}.group`, group, why.join(","));
    }
    const resources = this.#config.texts(fields.resources, `${at}.resources`);
    const resourceNames = this.#config.texts(fields.resourceNames, `${at}.resourceNames`);
    if (resourceNames.length > 0 && resources.length === 0)
      this.#config.invalid(
        `${list}.resourceNames`,
        resourceNames,
        "using resourceNames requires at least one resource",
      );
    return { group, resources, resourceNames };
  }

  #stages(value: unknown, at: string): readonly AuditStage[] {
    return this.#config.texts(value, at).flatMap((text, i) => {
      const stage = auditStages.find((known) => known === text);
      if (!stage) this.#config.invalid(`${at}[${i}]`, text, `allowed stages are ${auditStages.join(",")}`);
      return stage ? [stage] : [];
    });
  }

  #checkUrl(url: string, at: string): void {
    if (url === "*") return;
    if (!url.startsWith("/")) this.#config.invalid(at, url, "non-resource URL rules must begin with a '/' character");
    if (url.slice(0, -1).includes("*"))
      this.#config.invalid(at, url, "non-resource URL wildcards '*' must be the final character of the rule");
  }
}

const policyFields = ["apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"];
const ruleFields = [
  ...["level", "users", "userGroups", "verbs", "resources", "namespaces", "nonResourceURLs"],
  ...["omitStages", "omitManagedFields"],
];
const groupFields = ["group", "resources", "resourceNames"];
