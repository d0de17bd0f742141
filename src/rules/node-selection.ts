// Which nodes a pod asks for, by labels and by name, read once. Rules about API types, for all who place pods.
// Upstream: staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go.
import type {
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PreferredSchedulingTerm,
} from "#api/core/v1/affinity.ts";
import type { Node } from "#api/core/v1/node.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { own } from "#base/collections.ts";
import {
  type Labels,
  labelMatcher,
  makeRequirement,
  requirementsOfLabels,
  SelectorError,
  type SelectorOperator,
} from "#schema/selector.ts";

/** The parts of a node that selectors look at. */
export interface Selectable {
  /** Without a name, requirements on the name are ignored. */
  readonly name?: string;
  readonly labels: Labels;
}
export type NodeMatcher = (node: Selectable) => boolean;

export const selectable = ({ metadata }: Node): Selectable => ({
  name: metadata.name ?? "",
  labels: metadata.labels ?? {},
});

const operators: Readonly<Record<string, SelectorOperator>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
  Gt: "gt",
  Lt: "lt",
};

/** Matches a node that matches any of the terms. An invalid or empty term matches no node. */
export function nodeSelector({ nodeSelectorTerms }: NodeSelector): NodeMatcher {
  const terms = nodeSelectorTerms.map(termMatcher).filter((term) => term !== undefined);
  const [only] = terms;
  if (terms.length === 1 && only) return only;
  return (node) => terms.some((matches) => matches(node));
}

type Asking = Pick<PodSpec, "nodeSelector" | "affinity">;

/** A key that is equal for pods that select the same nodes; undefined for a pod that selects all nodes. */
export function requiredNodesId({ nodeSelector: labels, affinity }: Asking): string | undefined {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return labels || required ? JSON.stringify([labels ?? {}, required?.nodeSelectorTerms]) : undefined;
}

/** What a pod's node selector and its required node affinity say together, or undefined if they say nothing. */
export function requiredNodes({ nodeSelector: labels, affinity }: Asking): NodeMatcher | undefined {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const byLabels = Object.keys(labels ?? {}).length > 0 ? labelMatcher(requirementsOfLabels(labels ?? {})) : undefined;
  const byTerms = required && nodeSelector(required);
  if (!byLabels) return byTerms;
  if (!byTerms) return (node) => byLabels(node.labels);
  return (node) => byLabels(node.labels) && byTerms(node);
}

/** The sum of the weights of the terms that match. */
export function nodePreference(terms: readonly PreferredSchedulingTerm[] = []): (node: Selectable) => number {
  const wishes = terms.flatMap(({ weight, preference }) => {
    const matches = weight === 0 ? undefined : termMatcher(preference);
    return matches ? [{ weight, matches }] : [];
  });
  return (node) => {
    let sum = 0;
    for (const { weight, matches } of wishes) if (matches(node)) sum += weight;
    return sum;
  };
}

function termMatcher({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): NodeMatcher | undefined {
  if (matchExpressions.length === 0 && matchFields.length === 0) return undefined;
  const fields = matchFields.map(nameMatcher);
  const labels = expressionsMatcher(matchExpressions);
  if (labels === undefined || fields.includes(undefined)) return undefined;
  if (fields.length === 0) return (node) => labels(node.labels);
  return ({ labels: own, name }) => labels(own) && (!name || fields.every((matches) => matches?.(name)));
}

function expressionsMatcher(
  expressions: readonly NodeSelectorRequirement[],
): ((labels: Labels) => boolean) | undefined {
  try {
    return labelMatcher(
      expressions.map(({ key, operator, values = [] }) =>
        makeRequirement(key, own(operators, operator) ?? unknown(operator), values),
      ),
    );
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}

function unknown(operator: string): never {
  throw new SelectorError(`${JSON.stringify(operator)} is not a valid node selector operator`);
}

/** The name is the only field there is, and it is compared with one value. */
function nameMatcher({ key, operator, values = [] }: NodeSelectorRequirement): ((name: string) => boolean) | undefined {
  const [value] = values;
  if (values.length !== 1 || (operator !== "In" && operator !== "NotIn")) return undefined;
  if (key !== "metadata.name") return operator === "In" ? () => value === "" : () => value !== "";
  return operator === "In" ? (name) => name === value : (name) => name !== value;
}
