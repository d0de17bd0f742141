import type { Amounts } from "#api/core/v1/amounts.ts";
import { compareAmounts } from "#api/core/v1/amounts.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { RuntimeClass } from "#api/node/v1/runtime-class.ts";
import type { Mutable } from "#schema/infer.ts";
import { type Asked, admissionPlugin, type Refusal } from "./plugin.ts";
import { mergeTolerations } from "./tolerations.ts";

const otherOverhead = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

/** A pod takes over from its runtime class what running it costs, and which nodes can. */
export const runtimeClass = admissionPlugin({
  name: "RuntimeClass",
  on: { kind: Pod, verbs: ["create"] },

  async mutate(asked) {
    const { spec } = asked.object;
    if (spec.runtimeClassName === undefined) return;
    const found = await classOf(asked, spec.runtimeClassName);
    if (!found) return missing(spec.runtimeClassName);
    if (found.overhead) {
      const { podFixed = {} } = found.overhead;
      if (Object.keys(spec.overhead ?? {}).length > 0 && !sameAmounts(podFixed, spec.overhead)) return otherOverhead;
      if (Object.keys(podFixed).length > 0) spec.overhead = { ...podFixed };
    }
    return found.scheduling && addScheduling(spec, found.scheduling);
  },

  async validate(asked) {
    const { runtimeClassName, overhead } = asked.object.spec;
    const found = runtimeClassName === undefined ? undefined : await classOf(asked, runtimeClassName);
    if (runtimeClassName !== undefined && !found) return missing(runtimeClassName);
    if (found?.overhead) return sameAmounts(found.overhead.podFixed, overhead) ? undefined : otherOverhead;
    return overhead === undefined
      ? undefined
      : "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
  },
});

const missing = (name: string): string => `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`;

async function classOf({ server, signal }: Pick<Asked<unknown>, "server" | "signal">, name: string) {
  if (!server.get(RuntimeClass, name)) await server.settled(signal);
  return server.get(RuntimeClass, name);
}

function addScheduling(
  spec: Mutable<Pod>["spec"],
  { nodeSelector, tolerations }: NonNullable<RuntimeClass["scheduling"]>,
): Refusal {
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
