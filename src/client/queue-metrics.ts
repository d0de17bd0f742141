// Work queues that are counted under upstream's names.
import type { Clock } from "#base/clock.ts";
import type { Metrics } from "#base/metrics.ts";
import { type QueueWitness, WorkQueue } from "#base/queue.ts";
import type { Backoff } from "#base/retry.ts";

export interface MeasuredQueueOptions {
  /** The one the metrics know it by. */
  readonly name: string;
  readonly clock: Clock;
  readonly metrics?: Metrics | undefined;
  readonly backoff?: Backoff | undefined;
}

export function measuredQueue({ name, clock, metrics, backoff }: MeasuredQueueOptions): WorkQueue {
  const queue = new WorkQueue(clock, backoff, metrics && witness(metrics, name));
  metrics?.reading(() => {
    const { waiting, unfinishedMs, longestMs } = queue.load();
    metrics.set("workqueue_depth", { name }, waiting);
    metrics.set("workqueue_unfinished_work_seconds", { name }, unfinishedMs / 1000);
    metrics.set("workqueue_longest_running_processor_seconds", { name }, longestMs / 1000);
  });
  return queue;
}

function witness(metrics: Metrics, name: string): QueueWitness {
  const labels = { name };
  return {
    added: () => metrics.count("workqueue_adds_total", labels),
    taken: (waitedMs) => metrics.observe("workqueue_queue_duration_seconds", labels, waitedMs / 1000),
    done: (workedMs) => metrics.observe("workqueue_work_duration_seconds", labels, workedMs / 1000),
    retried: () => metrics.count("workqueue_retries_total", labels),
  };
}
