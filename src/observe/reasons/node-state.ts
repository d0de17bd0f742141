// What a node says of itself, as far as its pods depend on it.

import type { Node } from "#api/core/v1/node.ts";
import { conditionIn } from "#rules/conditions.ts";
import type { PodFacts } from "./pod-facts.ts";
import { conditionEvidence, type Evidence } from "./reason.ts";

export const readyCondition = (node: Node) => conditionIn(node.status.conditions, "Ready");

/** A node that cannot be read is taken to be well. */
export const isNodeReady = (node: PodFacts["node"]): boolean =>
  node === "unread" || (node !== "gone" && readyCondition(node)?.status === "True");

/** Why a pod cannot count on its node. */
export function nodeEvidence(node: PodFacts["node"], name: string): readonly Evidence[] {
  if (node === "unread") return [];
  if (node === "gone") return [{ from: `node ${name}`, says: "does not exist any more" }];
  const ready = readyCondition(node);
  if (!ready) return [{ from: `node ${name}`, says: "its kubelet has not reported yet" }];
  return conditionEvidence(ready).map((evidence) => ({ ...evidence, from: `node ${name}, ${evidence.from}` }));
}
