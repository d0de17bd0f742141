// What a kubelet reports about its node, besides its conditions.
// Upstream: pkg/kubelet/nodestatus/setters.go and pkg/kubelet/kubelet_node_status.go.
import type { Node } from "#api/core/v1/node.ts";
import type { NodeHealth } from "./description.ts";

type Flag = "memoryPressure" | "diskPressure" | "pidPressure";

/** Reasons, by whether it holds. */
const pressureReasons: readonly (readonly [Flag, string, string])[] = [
  ["memoryPressure", "NodeHasInsufficientMemory", "NodeHasSufficientMemory"],
  ["diskPressure", "NodeHasDiskPressure", "NodeHasNoDiskPressure"],
  ["pidPressure", "NodeHasInsufficientPID", "NodeHasSufficientPID"],
];

/** Reasons of the events for a change of health; for the first health, those of all conditions. */
export function healthEvents(before: NodeHealth | undefined, after: NodeHealth): readonly string[] {
  const news = pressureReasons.flatMap(([flag, pressed, well]) => {
    const isPressed = after[flag] === true;
    return before && (before[flag] === true) === isPressed ? [] : [isPressed ? pressed : well];
  });
  const isReady = after.notReady === undefined;
  if (!before || (before.notReady === undefined) !== isReady) news.push(isReady ? "NodeReady" : "NodeNotReady");
  return news;
}

/** The reason of the event for a change of `spec.unschedulable`; none for a node that is schedulable from the start. */
export function schedulingEvent(before: Node | undefined, after: Node | undefined): string | undefined {
  const [was, is] = [before, after].map((node) => node?.spec.unschedulable === true);
  if (was === is || !after) return undefined;
  return is ? "NodeNotSchedulable" : "NodeSchedulable";
}

export const statusNews = (name: string, reason: string): string => `Node ${name} status is now: ${reason}`;
