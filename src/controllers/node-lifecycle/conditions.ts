// The conditions of a node whose kubelet does not report any more: all Unknown.
// Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go.
import type { Node, NodeCondition } from "#api/core/v1/node.ts";
import { timeOf } from "#schema/time.ts";

/** Conditions that the kubelet reports; NetworkUnavailable is reported by others. */
const reportedTypes = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

export function unknownConditions({ metadata, status }: Node, now: number): readonly NodeCondition[] {
  const present = status.conditions ?? [];
  const lastTransitionTime = timeOf(now);
  const lost = present.map((condition): NodeCondition => {
    if (!reportedTypes.includes(condition.type) || condition.status === "Unknown") return condition;
    const message = "Kubelet stopped posting node status.";
    return { ...condition, status: "Unknown", reason: "NodeStatusUnknown", message, lastTransitionTime };
  });
  const never = reportedTypes
    .filter((type) => !present.some((condition) => condition.type === type))
    .map((type) => ({
      type,
      status: "Unknown",
      reason: "NodeStatusNeverUpdated",
      message: "Kubelet never posted node status.",
      lastHeartbeatTime: metadata.creationTimestamp,
      lastTransitionTime,
    }));
  return [...lost, ...never];
}
