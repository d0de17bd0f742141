import type { ApiObject } from "#schema/object.ts";
import { compareQuantity, isZeroQuantity, parseQuantity } from "#schema/quantity.ts";
import type { Strategy } from "../registry/strategy.ts";
import { ephemeralContainers, resize } from "./pod-parts.ts";

export const pod: Strategy = {
  countsGenerations: true,
  wanted: ({ spec }) => spec,
  parts: { ephemeralcontainers: ephemeralContainers, resize },
  prepareForCreate(object) {
    object.status = { phase: "Pending", qosClass: qosClass(object as ApiObject) };
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
  },
  /** A pod that never reached a node, or has ended, has nothing to wind up. */
  graceSeconds({ spec, status }, asked) {
    const grace = asked ?? spec.terminationGracePeriodSeconds ?? 30;
    if (!spec.nodeName || status.phase === "Failed" || status.phase === "Succeeded") return 0;
    return grace < 0 ? 1 : grace;
  },
};

type Amounts = Readonly<Record<string, string>> | undefined;

/** How a pod is treated when its node runs out: by what its containers ask for and are limited to, of cpu and memory. */
export function qosClass({ spec }: ApiObject): "Guaranteed" | "Burstable" | "BestEffort" {
  const holders: readonly { resources?: { requests?: Amounts; limits?: Amounts } }[] = spec.resources
    ? [spec]
    : [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const amount = (amounts: Amounts, name: string) =>
    amounts?.[name] === undefined ? undefined : parseQuantity(amounts[name]);
  let asks = false;
  let guaranteed = true;
  for (const { resources } of holders)
    for (const name of ["cpu", "memory"]) {
      const limit = amount(resources?.limits, name);
      const request = amount(resources?.requests, name) ?? limit;
      if ((limit && !isZeroQuantity(limit)) || (request && !isZeroQuantity(request))) asks = true;
      if (!limit || isZeroQuantity(limit) || (request && compareQuantity(request, limit) !== 0)) guaranteed = false;
    }
  if (!asks) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}
