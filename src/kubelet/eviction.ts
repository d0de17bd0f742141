// Evicts pods when the node runs out of a resource. Order and messages are upstream's.
//
// When the disk gets full, unused images are removed first. Then one pod is evicted at a time, and the resource is measured again before
// the next. Nodes that share a machine run out together: the pod is chosen among the pods of all of them, and its own node evicts it.
// Upstream: pkg/kubelet/eviction/eviction_manager.go and pkg/kubelet/eviction/helpers.go.
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { podAmounts } from "#rules/pod-amounts.ts";
import { hasEnded } from "#rules/pods.ts";
import { bytesOf } from "./cgroups/limits.ts";
import { isCritical } from "./node/admit.ts";
import { type EvictionThresholds, type MachineState, type Pressure, pressuresOf } from "./node/pressure.ts";
import type { Termination } from "./pod/view.ts";
import type { ServedPod } from "./server/server.ts";
import type { PodStats, Summary } from "./stats/summary.ts";

export interface MeasuredPod {
  readonly pod: Pod;
  readonly stats: PodStats | undefined;
}

/** A resource that the node can run out of. */
export type StarvedResource = "memory" | "ephemeral-storage" | "pids";

export const resourceUnder: Readonly<Record<Pressure, StarvedResource>> = {
  memoryPressure: "memory",
  diskPressure: "ephemeral-storage",
  pidPressure: "pids",
};

/** In order of eviction: pods that use more than they request, then lower priority, then the largest use beyond the request. */
export function evictionOrder(resource: StarvedResource, pods: readonly MeasuredPod[]): readonly MeasuredPod[] {
  const beyond = ({ pod, stats }: MeasuredPod): number =>
    stats ? usedOf(resource, stats) - requestOf(resource, pod) : Number.POSITIVE_INFINITY;
  const exceeds = (one: MeasuredPod): number => (resource === "pids" || beyond(one) > 0 ? 0 : 1);
  const priority = ({ pod }: MeasuredPod): number => pod.spec.priority ?? 0;
  return pods
    .filter(({ pod }) => !isCritical(pod))
    .sort((a, b) => exceeds(a) - exceeds(b) || priority(a) - priority(b) || compare(beyond(b), beyond(a)));
}

const compare = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1);

function usedOf(resource: StarvedResource, stats: PodStats): number {
  if (resource === "memory") return stats.memory?.workingSetBytes ?? 0;
  if (resource === "pids") return stats.process_stats?.process_count ?? 0;
  return stats["ephemeral-storage"]?.usedBytes ?? 0;
}

const requestOf = (resource: StarvedResource, pod: Pod): number =>
  resource === "pids" ? 0 : bytesOf(podAmounts(pod, "requests").get(resource));

export interface Shortage {
  readonly resource: StarvedResource;
  readonly threshold: number;
  readonly available: number;
}

/** Which resource is short, and by how much. */
export function shortageOf(pressure: Pressure, machine: MachineState, thresholds: EvictionThresholds): Shortage {
  const resource = resourceUnder[pressure];
  if (resource === "memory")
    return { resource, threshold: thresholds.memoryAvailableBytes, available: machine.memoryAvailableBytes };
  const { used = 0, most = 0 } = machine.pids ?? {};
  if (resource === "pids")
    return { resource, threshold: Math.floor(most * (thresholds.pidsAvailable ?? 0)), available: most - used };
  const { nodeFs, imageFs } = machine;
  const node = {
    resource,
    threshold: Math.floor(nodeFs.capacityBytes * thresholds.nodeFsAvailable),
    available: nodeFs.availableBytes,
  };
  const image = {
    resource,
    threshold: Math.floor(imageFs.capacityBytes * thresholds.imageFsAvailable),
    available: imageFs.availableBytes,
  };
  return node.available < node.threshold ? node : image;
}

export function evictionMessage({ resource, threshold, available }: Shortage, { pod, stats }: MeasuredPod): string {
  const low = `The node was low on resource: ${resource}. Threshold quantity: ${formatBytes(threshold)}, available: ${formatBytes(available)}. `;
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const guilty = (stats?.containers ?? []).flatMap(({ name, memory, rootfs, logs }) => {
    const request = all.find((one) => one.name === name)?.resources.requests?.[resource] ?? "0";
    const used =
      resource === "memory"
        ? memory?.workingSetBytes
        : resource === "ephemeral-storage"
          ? (rootfs?.usedBytes ?? 0) + (logs?.usedBytes ?? 0)
          : undefined;
    return used !== undefined && used > bytesOf(request)
      ? [
          `Container ${name} was using ${formatBytes(used)}, request is ${request}, has larger consumption of ${resource}. `,
        ]
      : [];
  });
  return low + guilty.join("");
}

/** As quantities of bytes are written: in the largest unit that leaves nothing over. */
function formatBytes(amount: number): string {
  const units = ["", "Ki", "Mi", "Gi", "Ti"];
  let unit = 0;
  let left = amount;
  for (; left > 0 && left % 1024 === 0 && unit < units.length - 1; unit++) left /= 1024;
  return `${left}${units[unit]}`;
}

/** A node whose pods take from the same machine. */
export interface EvictionPeer {
  pods(): Iterable<ServedPod>;
  stats(which: "all", signal: AbortSignal): Promise<Summary>;
}

export interface EvictorOptions extends EvictionPeer {
  /** Other nodes of the machine. */
  readonly peers?: () => Iterable<EvictionPeer>;
  readonly machine: () => Promise<MachineState>;
  /** Removes unused images. */
  readonly freeImages: (signal: AbortSignal) => Promise<unknown>;
  readonly evict: (podUid: string, termination: Termination) => void;
  /** Tells people about the node. */
  readonly report?: (reason: string, message: string) => void;
  /** A file that keeps some of the disk free: it is deleted so that the runtime can write that containers have ended. */
  readonly reserve?: { keep(): void; release(): unknown };
  readonly thresholds: EvictionThresholds;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long to wait for an evicted pod to end before the next one is chosen. */
const maxWaitMs = 30_000;
const order: readonly Pressure[] = ["memoryPressure", "diskPressure", "pidPressure"];

export class Evictor {
  readonly #options: EvictorOptions;
  /** Uids of pods that were evicted and have not ended yet. */
  readonly #evicted = new Set<string>();
  #last: { readonly uid: string; readonly at: number } | undefined;

  constructor(options: EvictorOptions) {
    this.#options = options;
  }

  /** Takes the next step against the pressures found: free images, or evict one pod. */
  async relieve(pressures: ReadonlySet<Pressure>, signal: AbortSignal): Promise<void> {
    const { machine, freeImages, thresholds, peers, evict, report, reserve, clock, log } = this.#options;
    if (!pressures.has("diskPressure")) reserve?.keep();
    if (pressures.size === 0) return;
    // Not earlier: a pod that still runs would fill the freed space.
    if (this.#isWaiting()) return void reserve?.release();
    const [first] = order.filter((pressure) => pressures.has(pressure)).map((pressure) => resourceUnder[pressure]);
    report?.("EvictionThresholdMet", `Attempting to reclaim ${first}`);
    if (pressures.has("diskPressure")) await freeImages(signal);
    const present = await machine();
    const left = pressuresOf(present, thresholds);
    const worst = order.find((pressure) => left.has(pressure));
    if (!worst) return;
    const shortage = shortageOf(worst, present, thresholds);
    const others = await Promise.all([...(peers?.() ?? [])].map((peer) => measure(peer, isRunning, signal)));
    const ownPods = await measure(this.#options, (one) => this.#mayGo(one), signal);
    // A pod of another node without stats may be about to start; a pod of this node without stats is evicted first.
    const candidates = [...ownPods, ...others.flat().filter(({ stats }) => stats)];
    if (worst === "diskPressure" && !wouldHelp(shortage, candidates)) {
      reserve?.release();
      return log.warn("the disk is full, and ending all pods would not change that", { ...shortage });
    }
    const [next] = evictionOrder(shortage.resource, candidates);
    if (!next) return log.warn("the node runs out, and there is no pod to end", { ...shortage });
    if (!ownPods.includes(next)) return;
    const { uid } = next.pod.metadata;
    evict(uid, { reason: "Evicted", message: evictionMessage(shortage, next), graceSeconds: 1 });
    this.#evicted.add(uid);
    this.#last = { uid, at: clock.elapsed() };
  }

  /** A pod in a crash loop counts even while none of its containers runs: it still holds its disk space. */
  #mayGo(one: ServedPod): boolean {
    return one.state.containers.length > 0 && !hasEnded(one.pod) && !this.#evicted.has(one.pod.metadata.uid);
  }

  /** Whether the last evicted pod is still ending: its disk and memory are freed only after its containers. */
  #isWaiting(): boolean {
    const { clock } = this.#options;
    const pods = [...this.#options.pods()];
    for (const uid of this.#evicted) if (!pods.some(({ pod }) => pod.metadata.uid === uid)) this.#evicted.delete(uid);
    const last = this.#last;
    if (!last || clock.elapsed() - last.at > maxWaitMs) return false;
    return pods.some((one) => one.pod.metadata.uid === last.uid && (isRunning(one) || !hasEnded(one.pod)));
  }
}

async function measure(
  node: EvictionPeer,
  counts: (one: ServedPod) => boolean,
  signal: AbortSignal,
): Promise<readonly MeasuredPod[]> {
  const { pods } = await node.stats("all", signal);
  return [...node.pods()].filter(counts).map(({ pod }) => ({
    pod,
    stats: pods.find(({ podRef }) => podRef.uid === pod.metadata.uid),
  }));
}

/** Upstream would evict all pods in turn, though others may have filled the disk. */
const wouldHelp = ({ threshold, available }: Shortage, pods: readonly MeasuredPod[]): boolean =>
  pods.reduce((sum, { stats }) => sum + (stats ? usedOf("ephemeral-storage", stats) : 0), 0) >= threshold - available;

const isRunning = ({ state }: ServedPod): boolean => state.containers.some(({ phase }) => phase === "running");
