// Which requests a webhook or a policy is about: by rules, by labels of the object, and by labels of its namespace.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules/rules.go and
// staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/matching/matching.go.
import { Namespace } from "#api/core/v1/namespace.ts";
import type { Soon } from "#base/soon.ts";
import { soon } from "#base/soon.ts";
import { type Labels, type SelectorStruct, selectorMatcher } from "#schema/selector.ts";
import type { MatchedVersion, ReviewedRequest } from "./reviewed-request.ts";

export interface MatchRule {
  readonly operations?: readonly string[] | undefined;
  readonly apiGroups?: readonly string[] | undefined;
  readonly apiVersions?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly scope?: string | undefined;
  /** Only of policies. */
  readonly resourceNames?: readonly string[] | undefined;
}

export interface MatchCriteria {
  /** Absent if every request is meant. */
  readonly rules?: readonly MatchRule[] | undefined;
  readonly excludeRules?: readonly MatchRule[] | undefined;
  /** Equivalent by default. */
  readonly matchPolicy?: string | undefined;
  readonly namespaceSelector?: SelectorStruct | undefined;
  readonly objectSelector?: SelectorStruct | undefined;
}

type LabelTest = ((labels: Labels | undefined) => boolean) | undefined;

/** Criteria, read once. */
export class RequestMatcher {
  readonly #criteria: MatchCriteria;
  /** Undefined where nothing is asked of the labels. */
  readonly #ofNamespace: LabelTest;
  readonly #ofObject: LabelTest;

  constructor(criteria: MatchCriteria) {
    this.#criteria = criteria;
    this.#ofNamespace = labelTest(criteria.namespaceSelector);
    this.#ofObject = labelTest(criteria.objectSelector);
  }

  /** The version in which the request is matched, if it is. Throws ApiError if its namespace is not there. */
  match(request: ReviewedRequest): Soon<MatchedVersion | undefined> {
    const matched = this.#byRules(request);
    if (!matched || !this.#byObject(request)) return undefined;
    const { kind } = request.asked;
    if (!this.#ofNamespace || (request.namespace === "" && kind !== Namespace)) return matched;
    const test = this.#ofNamespace;
    return soon(namespaceLabels(request), (labels) => (test(labels) ? matched : undefined));
  }

  #byRules(request: ReviewedRequest): MatchedVersion | undefined {
    const { rules, excludeRules = [], matchPolicy = "Equivalent" } = this.#criteria;
    if (excludeRules.length > 0 && this.#firstOf(excludeRules, request, matchPolicy)) return undefined;
    return rules ? this.#firstOf(rules, request, matchPolicy) : request.made;
  }

  #firstOf(rules: readonly MatchRule[], request: ReviewedRequest, policy: string): MatchedVersion | undefined {
    if (rules.some((rule) => fits(rule, request, request.made))) return request.made;
    if (policy !== "Equivalent") return undefined;
    for (const rule of rules)
      for (const version of request.equivalents()) if (fits(rule, request, version)) return version;
    return undefined;
  }

  #byObject({ asked: { object, old } }: ReviewedRequest): boolean {
    const test = this.#ofObject;
    if (!test) return true;
    return [object, old].some((one) => one !== undefined && test(one.metadata?.labels));
  }
}

const isEmpty = ({ matchLabels, matchExpressions = [] }: SelectorStruct): boolean =>
  Object.keys(matchLabels ?? {}).length === 0 && matchExpressions.length === 0;

const labelTest = (selector: SelectorStruct | undefined): LabelTest =>
  selector === undefined || isEmpty(selector) ? undefined : selectorMatcher(selector);

/** A namespace that is being written is not in the cache as it will be. */
function namespaceLabels(request: ReviewedRequest): Soon<Labels | undefined> {
  const { kind, subresource, operation, object } = request.asked;
  if (kind === Namespace && subresource === "" && (operation === "create" || operation === "update"))
    return object?.metadata.labels;
  return soon(request.namespaceObject(), (namespace) => namespace?.metadata.labels);
}

const holds = (values: readonly string[] = [], asked: string): boolean =>
  values.includes("*") || values.includes(asked);

function fits(rule: MatchRule, request: ReviewedRequest, { resource }: MatchedVersion): boolean {
  const { resources = [], resourceNames = [] } = rule;
  return (
    holds(rule.operations, request.operation) &&
    holds(rule.apiGroups, resource.group) &&
    holds(rule.apiVersions, resource.version) &&
    resources.some((one) => isResource(one, resource.resource, request.asked.subresource)) &&
    isInScope(rule.scope, request) &&
    (resourceNames.length === 0 || resourceNames.includes(request.name))
  );
}

function isResource(text: string, resource: string, subresource: string): boolean {
  const slash = text.indexOf("/");
  const [wanted, sub] = slash < 0 ? [text, ""] : [text.slice(0, slash), text.slice(slash + 1)];
  return (wanted === "*" || wanted === resource) && (sub === "*" || sub === subresource);
}

/** Namespaces are in no namespace, although requests about them are. */
function isInScope(scope: string | undefined, { asked, namespace }: ReviewedRequest): boolean {
  if (scope === undefined || scope === "*") return true;
  const isInNamespace = namespace !== "" && asked.kind !== Namespace;
  return isInNamespace === (scope === "Namespaced");
}
