// Upstream: pkg/apis/flowcontrol/validation/validation.go.
import { repeats } from "#base/collections.ts";
import { dns1123Label, dns1123Subdomain } from "#schema/formats.ts";
import { duplicate, forbidden, invalid, notSupported, type Problem, required } from "#schema/index.ts";
import type { NonResourcePolicyRule, ResourcePolicyRule, Subject } from "./flow-schema.ts";
import type { QueuingConfiguration } from "./priority-level-configuration.ts";

const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

function* checkVerbs(given: readonly string[]): Iterable<Problem> {
  if (given.length === 0) yield required("verbs", "verbs must contain at least one value");
  else if (given.includes("*")) {
    if (given.length > 1) yield invalid("verbs", "if '*' is present, must not specify other verbs");
  } else if (given.some((verb) => !verbs.includes(verb))) yield notSupported("verbs", verbs);
}

function* checkAlone(field: string, values: readonly string[], missing: string, words: string): Iterable<Problem> {
  if (values.length === 0) yield required(field, missing);
  else if (values.length > 1 && values.includes("*"))
    yield invalid(field, `if '*' is present, must not specify other ${words}`);
}

export function* checkResourceRule(rule: ResourcePolicyRule): Iterable<Problem> {
  yield* checkVerbs(rule.verbs);
  yield* checkAlone("apiGroups", rule.apiGroups, "resource rules must supply at least one api group", "api groups");
  yield* checkAlone("resources", rule.resources, "resource rules must supply at least one resource", "resources");
  const { namespaces, clusterScope } = rule;
  if (namespaces.length === 0) {
    if (!clusterScope)
      yield required("namespaces", "resource rules that are not cluster scoped must supply at least one namespace");
  } else if (namespaces.includes("*")) {
    if (namespaces.length > 1) yield invalid("namespaces", "if '*' is present, must not specify other namespaces");
  } else
    for (const [i, namespace] of namespaces.entries())
      for (const detail of dns1123Label(namespace))
        yield invalid(`namespaces[${i}]`, `each member of this list must be '*' or a DNS-1123 label; ${detail}`);
}

export function* checkPathRule({ verbs: given, nonResourceURLs: urls }: NonResourcePolicyRule): Iterable<Problem> {
  yield* checkVerbs(given);
  yield* checkAlone("nonResourceURLs", urls, "nonResourceURLs must contain at least one value", "non-resource URLs");
  if (urls.includes("*")) return;
  for (const [i, url] of urls.entries()) {
    const problem = pathProblem(url);
    if (problem) yield invalid(`nonResourceURLs[${i}]`, problem);
  }
}

function pathProblem(path: string): string | undefined {
  if (path === "") return "must not be empty";
  if (path === "/") return undefined;
  if (!path.startsWith("/")) return "must start with slash";
  if (path.includes(" ")) return "must not contain white-space";
  if (path.includes("//")) return "must not contain double slash";
  const stars = path.split("*").length - 1;
  return stars > 1 || (stars === 1 && !path.endsWith("/*")) ? "wildcard can only do suffix matching" : undefined;
}

const parts = new Map([
  ["User", "user"],
  ["Group", "group"],
  ["ServiceAccount", "serviceAccount"],
] as const);

export function* checkSubject(subject: Subject): Iterable<Problem> {
  const own = parts.get(subject.kind as "User");
  if (!own) {
    yield notSupported("kind", ["Group", "ServiceAccount", "User"]);
    return;
  }
  if (!subject[own]) yield required(own, `${own} is required when subject kind is '${subject.kind}'`);
  for (const [kind, part] of parts)
    if (part !== own && subject[part]) yield forbidden(part, `${part} is forbidden when subject kind is not '${kind}'`);
  const { serviceAccount } = subject;
  if (own !== "serviceAccount" || !serviceAccount) return;
  const { name, namespace } = serviceAccount;
  if (name !== "*")
    for (const detail of name === "" ? [] : dns1123Subdomain(name)) yield invalid("serviceAccount.name", detail);
  for (const detail of namespace === "" ? [] : dns1123Label(namespace))
    yield invalid("serviceAccount.namespace", detail);
}

const mostQueues = 10_000_000;
const mostHashBits = 60;

export function* checkQueuing({ queues, handSize, queueLengthLimit }: QueuingConfiguration): Iterable<Problem> {
  if (queueLengthLimit <= 0) yield invalid("queueLengthLimit", "must be positive");
  if (queues <= 0) yield invalid("queues", "must be positive");
  else if (queues > mostQueues) yield invalid("queues", `must not be greater than ${mostQueues}`);
  if (handSize <= 0) yield invalid("handSize", "must be positive");
  else if (handSize > queues) yield invalid("handSize", `should not be greater than queues (${queues})`);
  else if (entropyBits(queues, handSize) > mostHashBits)
    yield invalid(
      "handSize",
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${mostHashBits}`,
    );
}

/** Bits of hash that it takes to deal a hand of queues. */
const entropyBits = (deck: number, hand: number): number => Math.ceil(Math.log2(deck) * hand);

export function* checkConditionTypes(
  conditions: readonly { readonly type?: string | undefined }[] = [],
): Iterable<Problem> {
  const isRepeated = repeats<string>();
  for (const [i, { type = "" }] of conditions.entries()) {
    if (isRepeated(type)) yield duplicate(`conditions[${i}].type`, type);
    if (type === "") yield required(`conditions[${i}].type`);
  }
}
