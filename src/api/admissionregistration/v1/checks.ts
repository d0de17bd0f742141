// Rules of webhooks and of what they and admission policies match.
// Upstream: pkg/apis/admissionregistration/validation/validation.go.
import { repeats } from "#base/collections.ts";
import { dns1035Label, dns1123Subdomain, pathSegment, qualifiedName } from "#schema/formats.ts";
import { duplicate, invalid, notSupported, type Problem, required, tooMany } from "#schema/index.ts";
import { checkExpression } from "../../cel.ts";
import { checkClientConfig, type WebhookService } from "../../webhooks.ts";
import { checkCondition } from "./expression-checks.ts";

interface Rule {
  readonly apiGroups?: readonly string[] | undefined;
  readonly apiVersions?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly operations?: readonly string[] | undefined;
}

const isMixed = (values: readonly string[]): boolean => values.length > 1 && values.includes("*");

export function* checkRule({ apiGroups = [], apiVersions = [], resources = [], operations = [] }: Rule) {
  if (operations.length === 0) yield required("operations");
  if (isMixed(operations)) yield invalid("operations", "if '*' is present, must not specify other operations");
  if (apiGroups.length === 0) yield required("apiGroups");
  if (isMixed(apiGroups)) yield invalid("apiGroups", "if '*' is present, must not specify other API groups");
  if (apiVersions.length === 0) yield required("apiVersions");
  if (isMixed(apiVersions)) yield invalid("apiVersions", "if '*' is present, must not specify other API versions");
  for (const [i, version] of apiVersions.entries()) if (version === "") yield required(`apiVersions[${i}]`);
  yield* checkResources(resources);
}

/** `pods`, `pods/log`, `*`, `pods/*`, a star with a subresource: none that another one covers already. */
function* checkResources(resources: readonly string[]): Iterable<Problem> {
  if (resources.length === 0) yield required("resources");
  const wholeResources = new Set<string>();
  const wholeSubresources = new Set<string>();
  let lastIsPlain = false;
  for (const [i, text] of resources.entries()) {
    const field = `resources[${i}]`;
    if (text === "") {
      yield required(field);
      continue;
    }
    const slash = text.indexOf("/");
    if (slash < 0) {
      lastIsPlain = text !== "*";
      continue;
    }
    const [resource, sub] = [text.slice(0, slash), text.slice(slash + 1)];
    if (wholeResources.has(resource)) yield invalid(field, `if '${resource}/*' is present, must not specify ${text}`);
    if (wholeSubresources.has(sub)) yield invalid(field, `if '*/${sub}' is present, must not specify ${text}`);
    if (sub === "*") wholeResources.add(resource);
    if (resource === "*") wholeSubresources.add(sub);
  }
  if (resources.length > 1 && resources.includes("*/*"))
    yield invalid("resources", "if '*/*' is present, must not specify other resources");
  if (resources.includes("*") && lastIsPlain)
    yield invalid("resources", "if '*' is present, must not specify other resources without subresources");
}

export function* checkResourceNames(names: readonly string[] = []): Iterable<Problem> {
  const isRepeated = repeats<string>();
  for (const [i, name] of names.entries()) {
    for (const detail of pathSegment(name)) yield invalid(`resourceNames[${i}]`, detail);
    if (isRepeated(name)) yield duplicate(`resourceNames[${i}]`);
  }
}

interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}
const mostConditions = 64;

export function* checkConditions(conditions: readonly MatchCondition[] = [], hasParams = false): Iterable<Problem> {
  const path = "matchConditions";
  if (conditions.length > mostConditions) yield tooMany(path, conditions.length, mostConditions);
  const isRepeated = repeats<string>();
  for (const [i, { name, expression }] of conditions.entries()) {
    yield* checkExpression(`${path}[${i}].expression`, expression);
    yield* checkCondition(`${path}[${i}].expression`, expression, hasParams);
    if (name === "") yield required(`${path}[${i}].name`);
    else for (const detail of qualifiedName(name)) yield invalid(`${path}[${i}].name`, detail);
    if (name !== "" && isRepeated(name)) yield duplicate(`${path}[${i}].name`);
  }
}

interface Webhook {
  readonly name: string;
  readonly clientConfig: { readonly url?: string | undefined; readonly service?: WebhookService | undefined };
  readonly sideEffects?: string | undefined;
  readonly timeoutSeconds: number;
  readonly admissionReviewVersions: readonly string[];
  readonly matchConditions?: readonly MatchCondition[] | undefined;
}

const harmless = ["None", "NoneOnDryRun"];
const reviewVersions = ["v1", "v1beta1"];

export function* checkWebhook(hook: Webhook): Iterable<Problem> {
  yield* checkQualified(hook.name);
  if (hook.sideEffects !== undefined && !harmless.includes(hook.sideEffects))
    yield notSupported("sideEffects", harmless);
  if (hook.timeoutSeconds < 1 || hook.timeoutSeconds > 30)
    yield invalid("timeoutSeconds", "the timeout value must be between 1 and 30 seconds");
  yield* checkClientConfig(hook.clientConfig, "clientConfig");
  yield* checkConditions(hook.matchConditions);
  yield* checkReviewVersions(hook.admissionReviewVersions);
}

function* checkQualified(name: string): Iterable<Problem> {
  if (name === "") return;
  if (dns1123Subdomain(name).length > 0) yield invalid("name", dns1123Subdomain(name).join(","));
  else if (name.split(".").length < 3)
    yield invalid("name", "should be a domain with at least three segments separated by dots");
}

function* checkReviewVersions(versions: readonly string[]): Iterable<Problem> {
  const path = "admissionReviewVersions";
  if (versions.length === 0) {
    yield required(path, `must specify one of ${reviewVersions.join(", ")}`);
    return;
  }
  const isRepeated = repeats<string>();
  for (const [i, version] of versions.entries()) {
    if (isRepeated(version)) yield invalid(`${path}[${i}]`, "duplicate version");
    else for (const detail of dns1035Label(version)) yield invalid(`${path}[${i}]`, detail);
  }
  if (!versions.some((version) => reviewVersions.includes(version)))
    yield invalid(path, `must include at least one of ${reviewVersions.join(", ")}`);
}

/** Names of webhooks are unique, unless they were not before. */
export function* checkWebhookNames(hooks: readonly { readonly name: string }[] = [], old?: typeof hooks) {
  const repeated = (list: typeof hooks) => {
    const isRepeated = repeats<string>();
    return list.flatMap(({ name }, i) => (isRepeated(name) ? [i] : []));
  };
  if (old && repeated(old).length > 0) return;
  for (const i of repeated(hooks)) if (hooks[i]?.name !== "") yield duplicate(`webhooks[${i}].name`);
}
