// Node selectors, affinity, tolerations and topology spread.
// Upstream: pkg/apis/core/validation/validation.go.
import { dns1123Label, dns1123Subdomain, labelValue, qualifiedName } from "#schema/formats.ts";
import { duplicate, forbidden, invalid, notSupported, type Problem, required } from "#schema/index.ts";
import type { LabelSelector } from "../../../meta/label-selector.ts";
import type {
  NodeAffinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinityTerm,
  Toleration,
  TopologySelectorTerm,
  TopologySpreadConstraint,
} from "../affinity.ts";
import { each, malformed, oneOf } from "./problems.ts";

export function* checkNodeSelector({ nodeSelectorTerms }: NodeSelector): Iterable<Problem> {
  if (nodeSelectorTerms.length === 0) yield required("nodeSelectorTerms", "must have at least one node selector term");
  for (const [at, term] of each("nodeSelectorTerms", nodeSelectorTerms)) yield* selectorTerm(at, term, true);
}

/** Values of mere preferences were never looked at, and must pass. */
export function* checkNodeAffinity({
  preferredDuringSchedulingIgnoredDuringExecution: preferred,
}: NodeAffinity): Iterable<Problem> {
  for (const [at, { preference }] of each("preferredDuringSchedulingIgnoredDuringExecution", preferred))
    yield* selectorTerm(`${at}.preference`, preference, false);
}

function* selectorTerm(path: string, term: NodeSelectorTerm, withValues: boolean): Iterable<Problem> {
  for (const [at, requirement] of each(`${path}.matchExpressions`, term.matchExpressions))
    yield* labelRequirement(at, requirement, withValues);
  for (const [at, requirement] of each(`${path}.matchFields`, term.matchFields))
    yield* fieldRequirement(at, requirement);
}

function* labelRequirement(
  at: string,
  { key, operator, values = [] }: NodeSelectorRequirement,
  withValues: boolean,
): Iterable<Problem> {
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length === 0) yield required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
      break;
    case "Exists":
    case "DoesNotExist":
      if (values.length > 0)
        yield forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
      break;
    case "Gt":
    case "Lt":
      if (values.length !== 1)
        yield required(`${at}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'");
      break;
    default:
      yield invalid(`${at}.operator`, "not a valid selector operator");
  }
  yield* malformed(`${at}.key`, key, qualifiedName);
  if (withValues) for (const [path, value] of each(`${at}.values`, values)) yield* malformed(path, value, labelValue);
}

function* fieldRequirement(at: string, { key, operator, values = [] }: NodeSelectorRequirement): Iterable<Problem> {
  if (operator !== "In" && operator !== "NotIn") yield invalid(`${at}.operator`, "not a valid selector operator");
  else if (values.length !== 1)
    yield required(`${at}.values`, "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  if (key !== "metadata.name") yield invalid(`${at}.key`, "not a valid field selector key");
  else for (const [path, value] of each(`${at}.values`, values)) yield* malformed(path, value, dns1123Subdomain);
}

export function* checkWeight({ weight }: { readonly weight: number }): Iterable<Problem> {
  if (weight < 1 || weight > 100) yield invalid("weight", "must be in the range 1-100");
}

export function* checkPodAffinityTerm(term: PodAffinityTerm): Iterable<Problem> {
  for (const name of term.namespaces ?? []) yield* malformed("namespace", name, dns1123Label);
  yield* labelKeys(term.matchLabelKeys, term.mismatchLabelKeys, term.labelSelector);
  if (term.topologyKey === "") yield required("topologyKey", "can not be empty");
  yield* malformed("topologyKey", term.topologyKey, qualifiedName);
}

function* labelKeys(
  match: readonly string[] = [],
  mismatch: readonly string[] = [],
  selector: LabelSelector | undefined,
): Iterable<Problem> {
  for (const [name, keys] of Object.entries({ matchLabelKeys: match, mismatchLabelKeys: mismatch })) {
    if (keys.length > 0 && !selector) yield forbidden(name, "must not be specified when labelSelector is not set");
    else for (const [at, key] of each(name, keys)) yield* malformed(at, key, qualifiedName);
  }
  // Keys that were already merged into the selector appear in it once; a second time is the user's own.
  const seen = new Set(Object.keys(selector?.matchLabels ?? {}));
  const lastMatch = new Map(match.map((key, i) => [key, i]));
  for (const { key } of selector?.matchExpressions ?? []) {
    if (lastMatch.has(key) && seen.has(key))
      yield invalid(`[${lastMatch.get(key)}]`, "exists in both matchLabelKeys and labelSelector", key);
    seen.add(key);
  }
  const mismatched = new Set(mismatch);
  for (const [at, key] of each("matchLabelKeys", match))
    if (mismatched.has(key)) yield invalid(at, "exists in both matchLabelKeys and mismatchLabelKeys");
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function checkTolerations(path: string, tolerations: readonly Toleration[] | undefined): readonly Problem[] {
  const problems: Problem[] = [];
  for (const [at, toleration] of each(path, tolerations)) {
    const { key = "", operator = "", value = "", effect = "", tolerationSeconds } = toleration;
    if (key !== "") problems.push(...malformed(`${at}.key`, key, qualifiedName));
    else if (operator !== "Exists")
      problems.push(
        invalid(
          `${at}.operator`,
          'operator must be Exists when `key` is empty, which means "match all values and all keys"',
          operator,
        ),
      );
    if (tolerationSeconds !== undefined && effect !== "NoExecute")
      problems.push(invalid(`${at}.effect`, "effect must be 'NoExecute' when `tolerationSeconds` is set", effect));
    if (operator === "" || operator === "Equal") {
      const messages = labelValue(value);
      if (messages.length > 0) problems.push(invalid(`${at}.operator`, messages.join(";"), value));
    } else if (operator === "Exists") {
      if (value !== "")
        problems.push(invalid(`${at}.operator`, "value must be empty when `operator` is 'Exists'", value));
    } else
      problems.push(
        notSupported(
          `${at}.operator`,
          operator === "Lt" || operator === "Gt" ? ["Equal", "Exists", "Lt", "Gt"] : ["Equal", "Exists"],
        ),
      );
    if (effect !== "") problems.push(...taintEffect(`${at}.effect`, effect));
  }
  return problems;
}

export const taintEffect = (at: string, effect: string): Iterable<Problem> => oneOf(at, effect, effects);

export function* checkSpread(constraint: TopologySpreadConstraint): Iterable<Problem> {
  const { maxSkew, topologyKey, whenUnsatisfiable, minDomains } = constraint;
  if (maxSkew <= 0) yield invalid("maxSkew", "must be greater than zero");
  if (topologyKey === "") yield required("topologyKey", "can not be empty");
  if ((whenUnsatisfiable as string) === "")
    yield notSupported("whenUnsatisfiable", ["DoNotSchedule", "ScheduleAnyway"], "");
  if (minDomains !== undefined) {
    if (minDomains <= 0) yield invalid("minDomains", "must be greater than zero");
    if (whenUnsatisfiable !== "DoNotSchedule")
      yield invalid(
        "minDomains",
        `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`,
      );
  }
  yield* labelKeys(constraint.matchLabelKeys, [], constraint.labelSelector);
}

/** One constraint for each pair of key and action. */
export function* spreadRepeats(constraints: readonly TopologySpreadConstraint[] | undefined): Iterable<Problem> {
  const pairOf = ({ topologyKey, whenUnsatisfiable }: TopologySpreadConstraint) =>
    JSON.stringify([topologyKey, whenUnsatisfiable]);
  const last = new Map((constraints ?? []).map((constraint, index) => [pairOf(constraint), index]));
  for (const [index, constraint] of (constraints ?? []).entries()) {
    const { topologyKey, whenUnsatisfiable } = constraint;
    if (last.get(pairOf(constraint)) !== index)
      yield duplicate(
        `topologySpreadConstraints[${index}].{topologyKey, whenUnsatisfiable}`,
        `{${topologyKey}, ${whenUnsatisfiable}}`,
      );
  }
}

export function* checkTopologyTerm({ matchLabelExpressions }: TopologySelectorTerm): Iterable<Problem> {
  const keys = new Set<string>();
  for (const [at, { key, values }] of each("matchLabelExpressions", matchLabelExpressions)) {
    if (values.length === 0) yield required(`${at}.values`);
    const seen = new Set<string>();
    for (const [path, value] of each(`${at}.values`, values)) {
      if (seen.has(value)) yield duplicate(path);
      seen.add(value);
    }
    yield* malformed(`${at}.key`, key, qualifiedName);
    if (keys.has(key)) yield duplicate(`${at}.key`);
    keys.add(key);
  }
}
