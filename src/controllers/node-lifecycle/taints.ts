// The taints that say what is wrong with a node.
// Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go.
import type { Node, Taint } from "#api/core/v1/node.ts";
import { timeOf } from "#schema/time.ts";

const key = (name: string): string => `node.kubernetes.io/${name}`;
export const notReady = key("not-ready");
export const unreachable = key("unreachable");
const unschedulable = key("unschedulable");

/** Condition, its status, and the taint that keeps pods away while it has it. */
const byCondition: readonly (readonly [string, string, string])[] = [
  ["Ready", "False", notReady],
  ["Ready", "Unknown", unreachable],
  ["MemoryPressure", "True", key("memory-pressure")],
  ["DiskPressure", "True", key("disk-pressure")],
  ["NetworkUnavailable", "True", key("network-unavailable")],
  ["PIDPressure", "True", key("pid-pressure")],
];
const ours: ReadonlySet<string> = new Set([...byCondition.map(([, , taint]) => taint), unschedulable]);

export const hasTaint = ({ spec }: Node, taint: string, effect: Taint["effect"]): boolean =>
  spec.taints?.some((one) => one.key === taint && one.effect === effect) === true;

/** The NoExecute taint of a node, besides taints that others have added. */
export interface Eviction {
  readonly add?: string;
  readonly remove: readonly string[];
}

/** The node's taints with those its conditions call for; undefined if it has them. */
export function wantedTaints(node: Node, eviction: Eviction, now: number): readonly Taint[] | undefined {
  const present = node.spec.taints ?? [];
  const keys = new Set([
    ...(node.status.conditions ?? []).flatMap(({ type, status }) =>
      byCondition.filter(([condition, value]) => condition === type && value === status).map(([, , taint]) => taint),
    ),
    ...(node.spec.unschedulable ? [unschedulable] : []),
  ]);
  const kept = present.filter((taint) =>
    taint.effect === "NoSchedule"
      ? !ours.has(taint.key) || keys.has(taint.key)
      : taint.effect !== "NoExecute" || !eviction.remove.includes(taint.key),
  );
  const timeAdded = timeOf(now);
  const missing = [...keys].filter((taint) => !hasTaint(node, taint, "NoSchedule"));
  const added: Taint[] = missing.map((taint) => ({ key: taint, effect: "NoSchedule", timeAdded }));
  if (eviction.add && !hasTaint(node, eviction.add, "NoExecute"))
    added.push({ key: eviction.add, effect: "NoExecute", timeAdded });
  return kept.length === present.length && added.length === 0 ? undefined : [...kept, ...added];
}

/** Labels that also have a beta name. */
const aliases: readonly (readonly [string, string])[] = [
  ["kubernetes.io/os", "beta.kubernetes.io/os"],
  ["kubernetes.io/arch", "beta.kubernetes.io/arch"],
];

/** The labels that the node lacks, or has with another value than it should. */
export function missingLabels({ metadata: { labels = {} } }: Node): Readonly<Record<string, string>> {
  return Object.fromEntries(
    aliases.flatMap(([name, old]) => {
      const value = labels[name];
      return value === undefined || labels[old] === value ? [] : [[old, value]];
    }),
  );
}
