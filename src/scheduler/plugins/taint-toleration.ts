// Upstream: pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go.
import type { Toleration } from "#api/core/v1/affinity.ts";
import type { Node, Taint } from "#api/core/v1/node.ts";
import { isTolerated } from "#rules/tolerations.ts";
import { type Refusal, schedulerPlugin } from "../framework.ts";
import { reversed } from "./normalize.ts";

const tainted: Refusal = { reason: "node(s) had untolerated taint(s)", stuck: true };

/** Keeps pods off nodes whose taints they do not tolerate, and prefers nodes with fewer soft taints. */
export const taintToleration = schedulerPlugin({
  name: "TaintToleration",
  wakes: [
    {
      kind: "Node",
      on: ["add", "taints"],
      cures: ({ pod }, { old, now }) =>
        now !== undefined && !repels(now, pod.spec.tolerations) && (!old || repels(old, pod.spec.tolerations)),
    },
    { kind: "Pod", on: ["tolerations"], cures: (pod, { now }) => now?.uid === pod.uid },
  ],

  preFilter: ({ pod }, { hasTaints }) => (hasTaints ? { state: pod.spec.tolerations ?? [] } : undefined),
  filter: (_pod, { isTainted, hardTaints }, tolerations: readonly Toleration[]) =>
    isTainted && hardTaints.some((taint) => !isTolerated(taint, tolerations)) ? tainted : undefined,

  preScore: ({ pod }, _nodes, { hasSoftTaints }) => ({
    state: hasSoftTaints
      ? (pod.spec.tolerations ?? []).filter(({ effect }) => !effect || effect === "PreferNoSchedule")
      : undefined,
  }),
  score(_pod, node, tolerations: readonly Toleration[] | undefined) {
    if (!tolerations) return 0;
    let count = 0;
    for (const taint of node.softTaints) if (!isTolerated(taint, tolerations)) count++;
    return count;
  },
  normalize: reversed,
});

const isHard = ({ effect }: Taint): boolean => effect === "NoSchedule" || effect === "NoExecute";
const repels = ({ spec }: Node, tolerations: readonly Toleration[] = []): boolean =>
  (spec.taints ?? []).some((taint) => isHard(taint) && !isTolerated(taint, tolerations));
