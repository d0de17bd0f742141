// Upstream: pkg/controller/daemon/daemon_controller.go.
import type { DaemonSetStatus } from "#api/apps/v1/daemon-set.ts";
import { isReady } from "#rules/conditions.ts";
import { isAvailable } from "#rules/pods.ts";
import { unlessZero } from "../replicas.ts";
import { isUpdated } from "./placement.ts";
import { byAge, type DaemonSetState } from "./plan.ts";

/** What a DaemonSet reports. Of several pods on a node the oldest counts. */
export function statusOf({ ds, nodes, placement, pods, hash, now }: DaemonSetState): DaemonSetStatus {
  const counts = { desired: 0, current: 0, misscheduled: 0, ready: 0, available: 0, updated: 0 };
  for (const node of nodes) {
    const there = pods.get(node.metadata.name ?? "") ?? [];
    const [pod] = there.length > 1 ? there.toSorted(byAge) : there;
    if (!placement(node).shouldRun) {
      if (pod) counts.misscheduled++;
      continue;
    }
    counts.desired++;
    if (!pod) continue;
    counts.current++;
    if (isReady(pod)) counts.ready++;
    if (isAvailable(pod, ds.spec.minReadySeconds ?? 0, now)) counts.available++;
    if (isUpdated(ds, pod, hash)) counts.updated++;
  }
  return {
    ...ds.status,
    observedGeneration: ds.metadata.generation,
    desiredNumberScheduled: counts.desired,
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misscheduled,
    numberReady: counts.ready,
    updatedNumberScheduled: unlessZero(counts.updated),
    numberAvailable: unlessZero(counts.available),
    numberUnavailable: unlessZero(counts.desired - counts.available),
  };
}
