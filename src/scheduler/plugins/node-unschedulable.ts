// Upstream: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go.
import type { Toleration } from "#api/core/v1/affinity.ts";
import { isTolerated } from "#rules/tolerations.ts";
import { type Refusal, schedulerPlugin } from "../framework.ts";

const cordoned: Refusal = { reason: "node(s) were unschedulable", stuck: true };
const taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" } as const;
const bearsIt = (tolerations: readonly Toleration[] | undefined) => isTolerated(taint, tolerations ?? []);

/** Keeps pods off cordoned nodes. */
export const nodeUnschedulable = schedulerPlugin({
  name: "NodeUnschedulable",
  wakes: [
    {
      kind: "Node",
      on: ["add", "taints"],
      cures: (_pod, { old, now }) => !now?.spec.unschedulable && (!old || old.spec.unschedulable === true),
    },
    {
      kind: "Pod",
      on: ["tolerations"],
      cures: (pod, { now }) => now?.uid === pod.uid && bearsIt(now.pod.spec.tolerations),
    },
  ],

  preFilter: ({ pod }, { hasUnschedulable }) =>
    hasUnschedulable && !bearsIt(pod.spec.tolerations) ? { state: undefined } : undefined,
  filter: (_pod, { isUnschedulable }) => (isUnschedulable ? cordoned : undefined),
});
