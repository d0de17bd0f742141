// Which nodes a pod asks for, by node selector and required node affinity. A rule about API types, for all who place pods.
import {
  type Labels,
  labelMatcher,
  makeRequirement,
  type Requirement,
  requirementsOfLabels,
  SelectorError,
  type SelectorOperator,
} from "#schema/selector.ts";
import type { NodeSelector, NodeSelectorRequirement, NodeSelectorTerm } from "./v1/affinity.ts";
import type { PodSpec } from "./v1/pod-spec.ts";

/** A node as far as selectors look at it. */
export interface SelectableNode {
  readonly metadata: { readonly name?: string | undefined; readonly labels?: Labels | undefined };
}
export type NodeMatcher = (node: SelectableNode) => boolean;

/** Whether a node is one the pod may be put on; what node name it asks for is not looked at. */
export function requiredNodeMatcher({
  nodeSelector,
  affinity,
}: Pick<PodSpec, "nodeSelector" | "affinity">): NodeMatcher {
  const hasLabels = labelMatcher(requirementsOfLabels(nodeSelector ?? {}));
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!required) return ({ metadata }) => hasLabels(metadata.labels);
  const isSelected = nodeSelectorMatcher(required);
  return (node) => hasLabels(node.metadata.labels) && isSelected(node);
}

/** Whether one of the terms matches. */
export function nodeSelectorMatcher({ nodeSelectorTerms }: NodeSelector): NodeMatcher {
  const terms = nodeSelectorTerms.map(nodeTermMatcher);
  return (node) => terms.some((matches) => matches(node));
}

/** Whether all of a term holds. An empty term matches nothing, nor does one that makes no sense: of several, the others count. */
export function nodeTermMatcher({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): NodeMatcher {
  if (matchExpressions.length === 0 && matchFields.length === 0) return () => false;
  try {
    const labels = labelMatcher(matchExpressions.map(labelRequirement));
    const fields = labelMatcher(matchFields.map(fieldRequirement));
    return ({ metadata }) => labels(metadata.labels) && (!metadata.name || fields({ [nameField]: metadata.name }));
  } catch (error) {
    if (error instanceof SelectorError) return () => false;
    throw error;
  }
}

const nameField = "metadata.name";
const operators: Readonly<Record<string, SelectorOperator>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
  Gt: "gt",
  Lt: "lt",
};

function labelRequirement({ key, operator, values = [] }: NodeSelectorRequirement): Requirement {
  const known = operators[operator];
  if (known === undefined) throw new SelectorError(`${JSON.stringify(operator)} is not a valid node selector operator`);
  return makeRequirement(key, known, values);
}

/** A field that a node does not have is as good as empty. */
function fieldRequirement({ key, operator, values = [] }: NodeSelectorRequirement): Requirement {
  if (operator !== "In" && operator !== "NotIn")
    throw new SelectorError(`${JSON.stringify(operator)} is not a valid selector operator for fields`);
  if (values.length !== 1) throw new SelectorError(`${key}: must have one element`);
  return { key, operator: operator === "In" ? "=" : "!=", values };
}
