// Upstream: pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go.
import { schedulerPlugin } from "../framework.ts";

/** A pod is not tried before all its gates have been taken away. */
export const schedulingGates = schedulerPlugin({
  name: "SchedulingGates",
  wakes: [{ kind: "Pod", on: ["gates"], cures: (pod, { now }) => now?.uid === pod.uid }],

  preEnqueue({ pod }) {
    const gates = pod.spec.schedulingGates ?? [];
    if (gates.length === 0) return undefined;
    return { reason: `waiting for scheduling gates: [${gates.map(({ name }) => name).join(" ")}]`, stuck: true };
  },
});
