// Warnings about labels of nodes that have new names, wherever nodes are selected.
// Upstream: pkg/api/node/util.go.
import type { NodeSelectorTerm } from "#api/core/v1/affinity.ts";
import type { LabelSelector } from "#api/meta/label-selector.ts";
import type { RuntimeClass } from "#api/node/v1/runtime-class.ts";
import { own } from "#base/collections.ts";

const deprecated: Readonly<Record<string, string>> = {
  "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
  "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  "app.kubernetes.io/created-by": "deprecated since v1.9",
  "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
  "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
};

/** What to say of the label, if it should not be used any more. */
export const deprecatedNodeLabel = (key: string): string | undefined =>
  Object.hasOwn(deprecated, key) ? own(deprecated, key) : undefined;

/** At `path.matchExpressions[0].key`. */
export function* nodeSelectorTermWarnings(path: string, term: NodeSelectorTerm): Iterable<string> {
  yield* expressionWarnings(path, term.matchExpressions);
}

export function* nodeSelectorWarnings(path: string, selector: LabelSelector | undefined): Iterable<string> {
  yield* expressionWarnings(path, selector?.matchExpressions);
  for (const key of Object.keys(selector?.matchLabels ?? {})) {
    const why = deprecatedNodeLabel(key);
    if (why !== undefined) yield `${path}.matchLabels.${key}: ${why}`;
  }
}

function* expressionWarnings(path: string, expressions: readonly { readonly key: string }[] = []): Iterable<string> {
  for (const [i, { key }] of expressions.entries()) {
    const why = deprecatedNodeLabel(key);
    if (why !== undefined) yield `${path}.matchExpressions[${i}].key: ${key} is ${why}`;
  }
}

export function* runtimeClassWarnings({ scheduling }: Pick<RuntimeClass, "scheduling">): Iterable<string> {
  for (const key of Object.keys(scheduling?.nodeSelector ?? {})) {
    const why = deprecatedNodeLabel(key);
    if (why !== undefined) yield `scheduling.nodeSelector: ${why}`;
  }
}
