// Evicts pods that exceed a limit of ephemeral storage: of a volume, of a container, or of the pod.
// Upstream: pkg/kubelet/eviction/eviction_manager.go (localStorageEviction).
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { podAmounts } from "#rules/pod-amounts.ts";
import { bytesOf } from "./cgroups/limits.ts";
import { isCritical } from "./node/admit.ts";
import type { Termination } from "./pod/view.ts";
import type { PodStats, Summary } from "./stats/summary.ts";

const storage = "ephemeral-storage";

/** Whether there is anything to watch about a pod. */
export const hasStorageLimit = ({ spec }: Pod): boolean =>
  spec.volumes?.some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined && !emptyDir.medium) === true ||
  spec.containers.some(({ resources }) => resources.limits?.[storage] !== undefined);

/** Why the pod has to go, in upstream's words, if it has to. */
export function storageExcess(pod: Pod, stats: PodStats): string | undefined {
  const used = new Map(stats.volume?.map(({ name, usedBytes }) => [name, usedBytes]));
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const limit = emptyDir?.medium ? undefined : emptyDir?.sizeLimit;
    if (limit !== undefined && bytesOf(limit) > 0 && (used.get(name) ?? 0) > bytesOf(limit))
      return `Usage of EmptyDir volume ${JSON.stringify(name)} exceeds the limit ${JSON.stringify(limit)}. `;
  }
  const whole = podAmounts(pod, "limits").get(storage);
  const isWhole = pod.spec.containers.every(({ resources }) => resources.limits?.[storage] !== undefined);
  if (whole !== undefined && isWhole && (stats[storage]?.usedBytes ?? 0) > bytesOf(whole))
    return `Pod ephemeral local storage usage exceeds the total limit of containers ${whole}. `;
  for (const { name, resources } of pod.spec.containers) {
    const limit = resources.limits?.[storage];
    const { rootfs, logs } = stats.containers.find((one) => one.name === name) ?? {};
    if (limit !== undefined && (rootfs?.usedBytes ?? 0) + (logs?.usedBytes ?? 0) > bytesOf(limit))
      return `Container ${name} exceeded its local ephemeral storage limit ${JSON.stringify(limit)}. `;
  }
  return undefined;
}

export interface StorageLimitsOptions {
  readonly list: () => Iterable<{ readonly pod: Pod }>;
  readonly summary: (signal: AbortSignal) => Promise<Summary>;
  readonly evict: (podUid: string, termination: Termination) => void;
  readonly clock: Clock;
  readonly log: Log;
}

const checkMs = 10_000;
/** To look takes no more than this part of the time: folders may be large. */
const maxTimeShare = 0.05;

export class StorageLimits implements Component {
  readonly name = "storage limits";
  readonly #options: StorageLimitsOptions;

  constructor(options: StorageLimitsOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    for (let waitMs = checkMs; ; ) {
      await clock.sleep(waitMs, signal);
      const start = clock.elapsed();
      try {
        await this.check(signal);
      } catch (error) {
        signal.throwIfAborted();
        log.warn("what pods take of the disk was not looked at", { error: explain(error) });
      }
      waitMs = Math.max(checkMs, (clock.elapsed() - start) / maxTimeShare);
    }
  }

  async check(signal: AbortSignal): Promise<void> {
    const { list, summary, evict } = this.#options;
    const watched = [...list()].map(({ pod }) => pod).filter((pod) => hasStorageLimit(pod) && !isCritical(pod));
    if (watched.length === 0) return;
    const { pods } = await summary(signal);
    for (const pod of watched) {
      const stats = pods.find(({ podRef }) => podRef.uid === pod.metadata.uid);
      const message = stats && storageExcess(pod, stats);
      if (message) evict(pod.metadata.uid, { reason: "Evicted", message, graceSeconds: 1 });
    }
  }
}
