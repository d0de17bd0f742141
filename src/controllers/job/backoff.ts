// How long a job waits before it replaces pods that failed: 10 s after the first failure, twice as long after each
// further one, up to 10 minutes. A success makes it forget them.
// Upstream: pkg/controller/job/backoff_utils.go.
import { isSidecar } from "#api/core/v1/amounts.ts";
import type { ContainerStatus } from "#api/core/v1/container-status.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { backoffMs } from "#base/retry.ts";
import { conditionIn } from "#rules/conditions.ts";
import { millisOf } from "#schema/time.ts";

const delays = { firstMs: 10_000, maxMs: 600_000 };

/** The failures since the last success. */
export interface Failures {
  readonly count: number;
  /** When the last one was, in milliseconds since 1970. */
  readonly lastAt: number;
}

/** The failures so far with those of pods that ended since. */
export function nextFailures(
  known: Failures | undefined,
  succeeded: readonly Pod[],
  failed: readonly Pod[],
): Failures | undefined {
  const ends = failed.map(finishedAt);
  if (succeeded.length === 0) return ends.length === 0 ? known : failures((known?.count ?? 0) + ends.length, ends);
  const lastSuccess = latest(succeeded.map(finishedAt));
  const since = ends.filter((at) => at > lastSuccess);
  return since.length === 0 ? undefined : failures(since.length, since);
}

const failures = (count: number, ends: readonly number[]): Failures => ({ count, lastAt: latest(ends) });
const latest = (times: readonly number[]): number => times.reduce((a, b) => Math.max(a, b));

/** How long a pod must still wait. A clock that was set back makes it no longer than the delay itself, other than upstream's. */
export function waitMs(known: Failures | undefined, now: number): number {
  if (!known || known.count === 0) return 0;
  const delay = backoffMs(delays, known.count - 1);
  return Math.min(delay, Math.max(0, known.lastAt + delay - now));
}

/** When the pod ended, as well as can be told, in milliseconds since 1970. */
export function finishedAt({ metadata, spec, status }: Pod): number {
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const inContainers = lastEnd(status.containerStatuses ?? [], undefined);
  const sidecarStatuses = (status.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name));
  const ended = lastEnd(sidecarStatuses, inContainers);
  if (ended !== undefined) return ended;
  const ready = conditionIn(status.conditions, "Ready");
  if (ready?.status === "False" && ready.lastTransitionTime) return millisOf(ready.lastTransitionTime);
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return millisOf(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return creationTimestamp === undefined ? 0 : millisOf(creationTimestamp);
}

/** The last moment a container ended, or undefined if one has not. */
function lastEnd(statuses: readonly ContainerStatus[], before: number | undefined): number | undefined {
  let last = before;
  for (const { state } of statuses) {
    const at = state?.terminated?.finishedAt;
    if (at === undefined) return undefined;
    last = Math.max(last ?? millisOf(at), millisOf(at));
  }
  return last;
}
