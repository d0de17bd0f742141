// Policies in a file, one JSON object a line, as the first releases of Kubernetes had them. Follows pkg/auth/authorizer/abac upstream.
import { isObject } from "#base/is-object.ts";
import { DecodeError, parseJson } from "#schema/json.ts";
import { authenticated } from "#serving/authentication.ts";
import type { Question } from "#serving/authorization.ts";
import type { User } from "#wire/api-request.ts";
import type { Authorizer } from "./authorizer.ts";

/** Who may do what; empty texts match nothing but emptiness, `*` matches everything. */
export interface AbacPolicy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

const version = "abac.authorization.kubernetes.io/v1beta1";

/** Lines that are empty or begin with `#` are passed over. Throws an Error that names the line at fault. */
export const parseAbacPolicies = (text: string): readonly AbacPolicy[] =>
  text.split("\n").flatMap((line, index): readonly AbacPolicy[] => {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) return [];
    try {
      return [policyIn(trimmed)];
    } catch (cause) {
      throw new Error(`line ${index + 1}`, { cause });
    }
  });

function policyIn(line: string): AbacPolicy {
  const value = parsed(line);
  if (!isObject(value)) throw new Error("expected an object");
  const isOld = value.apiVersion === undefined && value.kind === undefined;
  if (isOld) return oldPolicy(fieldsOf(value));
  if (value.apiVersion !== version || value.kind !== "Policy")
    throw new Error(`expected a Policy of ${version}, got ${value.kind} of ${value.apiVersion}`);
  if (!isObject(value.spec)) throw new Error("the policy has no spec");
  const policy = fieldsOf(value.spec);
  return policy.user === "*" || policy.group === "*" ? { ...policy, group: authenticated } : policy;
}

function parsed(line: string): unknown {
  try {
    return parseJson(line).value;
  } catch (error) {
    if (error instanceof DecodeError) throw new Error(error.message);
    throw error;
  }
}

/** Policies without a version: what they leave open is everything. */
function oldPolicy(policy: AbacPolicy): AbacPolicy {
  const isForAll = (policy.user === "" && policy.group === "") || policy.user === "*" || policy.group === "*";
  return {
    ...policy,
    group: isForAll ? authenticated : policy.group,
    namespace: policy.namespace || "*",
    resource: policy.resource || "*",
    apiGroup: "*",
    nonResourcePath: policy.namespace === "" && policy.resource === "" ? "*" : "",
  };
}

function fieldsOf(value: Readonly<Record<string, unknown>>): AbacPolicy {
  const text = (field: string): string => {
    const found = value[field] ?? "";
    if (typeof found !== "string") throw new Error(`${field}: must be a string`);
    return found;
  };
  const { readonly = false } = value;
  if (typeof readonly !== "boolean") throw new Error("readonly: must be true or false");
  return {
    user: text("user"),
    group: text("group"),
    readonly,
    apiGroup: text("apiGroup"),
    resource: text("resource"),
    namespace: text("namespace"),
    nonResourcePath: text("nonResourcePath"),
  };
}

const readVerbs: ReadonlySet<string> = new Set(["get", "list", "watch"]);

export const abacAuthorizer =
  (policies: readonly AbacPolicy[]): Authorizer =>
  (question) =>
    policies.some((policy) => isFor(policy, question.user) && permits(policy, question))
      ? { decision: "allow" }
      : { decision: "none", reason: "No policy matched." };

function isFor({ user, group }: AbacPolicy, { name, groups }: User): boolean {
  if (user !== "" && user !== "*" && user !== name) return false;
  if (group !== "" && group !== "*" && !groups.includes(group)) return false;
  return user !== "" || group !== "";
}

const isAnyOr = (wanted: string, value: string): boolean => wanted === "*" || wanted === value;

function permits(policy: AbacPolicy, question: Question): boolean {
  if (policy.readonly && !readVerbs.has(question.verb)) return false;
  if (question.type === "path") {
    const { nonResourcePath: spec } = policy;
    return isAnyOr(spec, question.path) || (spec.endsWith("*") && question.path.startsWith(spec.slice(0, -1)));
  }
  const { namespace = "", resource, group } = question;
  return isAnyOr(policy.namespace, namespace) && isAnyOr(policy.resource, resource) && isAnyOr(policy.apiGroup, group);
}
