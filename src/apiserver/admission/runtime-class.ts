// Upstream: plugin/pkg/admission/runtimeclass/admission.go.
import type { Amounts } from "#api/core/v1/amounts.ts";
import { compareAmounts } from "#api/core/v1/amounts.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { RuntimeClass } from "#api/node/v1/runtime-class.ts";
import { soon } from "#base/soon.ts";
import type { Mutable } from "#schema/infer.ts";
import { type AdmissionRefusal, admissionPlugin, find } from "./plugin.ts";
import { mergeTolerations } from "./tolerations.ts";

const otherOverhead = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const loneOverhead = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

/** A pod takes over from its runtime class what running it costs, and which nodes can. */
export const runtimeClass = admissionPlugin({
  name: "RuntimeClass",
  on: { kind: Pod, verbs: ["create"] },

  mutate(asked) {
    const { spec } = asked.object;
    const { runtimeClassName } = spec;
    if (runtimeClassName === undefined) return undefined;
    return soon(find(asked, RuntimeClass, runtimeClassName), (found) => {
      if (!found) return missing(runtimeClassName);
      if (found.overhead) {
        const { podFixed = {} } = found.overhead;
        if (Object.keys(spec.overhead ?? {}).length > 0 && !sameAmounts(podFixed, spec.overhead)) return otherOverhead;
        if (Object.keys(podFixed).length > 0) spec.overhead = { ...podFixed };
      }
      return found.scheduling && addScheduling(spec, found.scheduling);
    });
  },

  validate(asked) {
    const { runtimeClassName, overhead } = asked.object.spec;
    if (runtimeClassName === undefined) return overhead === undefined ? undefined : loneOverhead;
    return soon(find(asked, RuntimeClass, runtimeClassName), (found) => {
      if (!found) return missing(runtimeClassName);
      if (found.overhead) return sameAmounts(found.overhead.podFixed, overhead) ? undefined : otherOverhead;
      return overhead === undefined ? undefined : loneOverhead;
    });
  },
});

const missing = (name: string): string => `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`;

function addScheduling(
  spec: Mutable<Pod>["spec"],
  { nodeSelector, tolerations }: NonNullable<RuntimeClass["scheduling"]>,
): AdmissionRefusal {
  for (const [key, value] of Object.entries(nodeSelector ?? {})) {
    const own = spec.nodeSelector?.[key];
    if (own !== undefined && own !== value)
      return `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`;
  }
  if (nodeSelector) spec.nodeSelector = { ...spec.nodeSelector, ...nodeSelector };
  const merged = mergeTolerations(spec.tolerations ?? [], tolerations ?? []);
  if (merged.length > 0) spec.tolerations = merged;
  return undefined;
}

function sameAmounts(a: Amounts = {}, b: Amounts = {}): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every(
    (name) => a[name] !== undefined && b[name] !== undefined && compareAmounts(a[name], b[name]) === 0,
  );
}
