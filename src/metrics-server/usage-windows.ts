// The last two measurements of everything on a node. The use of processors is told as a counter, so one measurement says nothing: what is
// used follows from how far the counter moved between two.
// Upstream: sigs.k8s.io/metrics-server/pkg/storage/pod.go.
import type { ResourceSamples, UsagePoint } from "./resource-samples.ts";

export interface UsageWindow {
  readonly last: UsagePoint;
  /** Missing until there were two measurements since the last start. */
  readonly previous: UsagePoint | undefined;
}

/** What is known of a node and of the containers on it. */
export interface NodeWindows {
  readonly node: UsageWindow | undefined;
  /** By `namespace/name`, then by container. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, UsageWindow>>;
}

export interface MeasuredUsage {
  /** When the window ends. */
  readonly at: number;
  readonly windowMs: number;
  readonly nanoCores: number;
  readonly memoryBytes: number;
}

/** A container that began less than a round ago, but longer ago than this, is measured from its start: upstream's numbers are too wild before. */
const youngestMs = 10_000;

/** What is known once there are new samples. What they do not mention is forgotten. */
export function advanceWindows(
  before: NodeWindows | undefined,
  samples: ResourceSamples,
  resolutionMs: number,
): NodeWindows {
  const { node } = samples;
  return {
    node: node && { last: node, previous: earlierOf(before?.node, node) },
    pods: new Map(
      [...samples.pods].map(([pod, containers]) => {
        const known = before?.pods.get(pod);
        const windows = [...containers].map(([name, last]): [string, UsageWindow] => [
          name,
          { last, previous: sinceStart(last, resolutionMs) ?? sinceLast(known?.get(name), last) },
        ]);
        return [pod, new Map(windows)];
      }),
    ),
  };
}

function sinceStart(last: UsagePoint, resolutionMs: number): UsagePoint | undefined {
  const { startedAt } = last;
  if (startedAt === undefined) return undefined;
  const age = last.at - startedAt;
  return age >= youngestMs && age < resolutionMs ? { ...last, at: startedAt, cpuSeconds: 0 } : undefined;
}

/** A container that was started again begins anew. */
const sinceLast = (known: UsageWindow | undefined, last: UsagePoint): UsagePoint | undefined =>
  known && (last.startedAt ?? 0) < known.last.at ? earlierOf(known, last) : undefined;

/** A sample that was seen already does not move the window. */
function earlierOf(known: UsageWindow | undefined, last: UsagePoint): UsagePoint | undefined {
  if (!known) return undefined;
  if (last.at > known.last.at) return known.last;
  return known.previous && known.previous.at < last.at ? known.previous : undefined;
}

/** Undefined for what has no window yet, and where the counter went back. */
export function usageIn({ last, previous }: UsageWindow): MeasuredUsage | undefined {
  if (!previous || last.cpuSeconds < previous.cpuSeconds || last.at <= previous.at) return undefined;
  if (last.startedAt !== undefined && previous.startedAt !== undefined && last.startedAt < previous.startedAt)
    return undefined;
  const windowMs = last.at - previous.at;
  const nanoCores = Math.round(((last.cpuSeconds - previous.cpuSeconds) * 1e12) / windowMs);
  return { at: last.at, windowMs, nanoCores, memoryBytes: Math.trunc(last.memoryBytes) };
}

/** Whether everything on the node has a window, so that there is no hurry to look again. */
export const isComplete = ({ node, pods }: NodeWindows): boolean =>
  node?.previous !== undefined &&
  [...pods.values()].every((containers) => [...containers.values()].every(({ previous }) => previous !== undefined));
