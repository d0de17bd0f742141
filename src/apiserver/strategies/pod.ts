// Upstream: pkg/registry/core/pod/strategy.go.
import type { PodCondition } from "#api/core/v1/pod.ts";
import { qosClassOf } from "#api/core/v1/qos.ts";
import { hasEnded } from "#rules/pods.ts";
import { dns1123Label } from "#schema/formats.ts";
import type { Strategy } from "../registry/strategy.ts";
import { podWarnings } from "../warnings/pod.ts";
import { writeOutLabelKeys } from "./pod-label-keys.ts";
import { ephemeralContainers, resize } from "./pod-parts.ts";

export const pod: Strategy = {
  isFreeUntilInitialized: true,
  countsGenerations: true,
  wanted: ({ spec }) => spec,
  // Old kubelets garbled them.
  statusKeeps: ["metadata.ownerReferences"],
  parts: { ephemeralcontainers: ephemeralContainers, resize },
  warnings({ metadata, spec }, old) {
    const why = old ? [] : dns1123Label(metadata.name ?? "");
    const others = podWarnings("", { metadata, spec });
    if (why.length === 0) return others;
    const ofName = `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${why.join(" ")}]`;
    return [ofName, ...others];
  },
  prepareForCreate(object) {
    object.status = { phase: "Pending", qosClass: qosClassOf(object.spec) };
    writeOutLabelKeys(object.spec, object.metadata.labels);
    if ((object.spec?.schedulingGates ?? []).length > 0)
      object.status.conditions = [
        {
          type: "PodScheduled",
          status: "False",
          reason: "SchedulingGated",
          message: "Scheduling is blocked due to non-empty scheduling gates",
        },
      ];
  },
  prepareForStatusUpdate(object, old) {
    if (object.status.qosClass === undefined) object.status.qosClass = old.status.qosClass;
    keepGenerations(object.status, old.status);
  },
  /** A pod that never reached a node, or has ended, has nothing to wind up. */
  graceSeconds({ spec, status }, asked) {
    const grace = asked ?? spec.terminationGracePeriodSeconds ?? 30;
    if (!spec.nodeName || hasEnded({ status })) return 0;
    return grace < 0 ? 1 : grace;
  },
};

interface StatusHolder {
  observedGeneration?: number;
  conditions?: readonly PodCondition[];
}

/** Kubelets that do not know of generations must not make them forgotten. */
function keepGenerations(status: StatusHolder, old: StatusHolder): void {
  if (!status.observedGeneration && old.observedGeneration) status.observedGeneration = old.observedGeneration;
  const before = Map.groupBy(old.conditions ?? [], ({ type }) => type);
  const conditions = status.conditions?.map((condition) => {
    const observedGeneration = before.get(condition.type)?.shift()?.observedGeneration;
    return condition.observedGeneration || !observedGeneration ? condition : { ...condition, observedGeneration };
  });
  if (conditions) status.conditions = conditions;
}
