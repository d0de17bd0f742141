// Removes the tracking finalizer of pods that no job will count: their job is gone or finished, or no longer controls them.
// Upstream: pkg/controller/job/job_controller.go.
import { Job } from "#api/batch/v1/job.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { type CacheView, controller, watching } from "#client/controller.ts";
import { controllerOf } from "#rules/owners.ts";
import { isFinished } from "./conditions.ts";
import { isManagedElsewhere, untrack } from "./job.ts";
import { isTracked } from "./pods.ts";

export const jobOrphanController = controller({
  name: "job-orphan-pod",
  queue: "job_orphan_pod",
  for: Pod,
  concerns: isTracked,
  watches: [
    watching(Job, (job, cache) =>
      isCounting(job, cache)
        ? []
        : cache
            .owned(Pod, job)
            .filter(isTracked)
            .map(({ metadata }) => metadata),
    ),
  ],
  backoff: { firstMs: 1000, maxMs: 60_000 },

  async reconcile(pod, context) {
    if (isTracked(pod) && !isCounted(pod, context.cache)) await untrack(pod, context);
  },
});

/** Whether a job controller will, or may, remove the finalizer. */
function isCounted(pod: Pod, cache: CacheView): boolean {
  const owner = controllerOf(pod);
  if (!owner) return false;
  if (owner.kind !== Job.kind || owner.apiVersion !== Job.apiVersion) return true;
  const job = cache.get(Job, { namespace: pod.metadata.namespace, name: owner.name });
  // A job that is not in the cache may be new. If it is gone, its pods are soon deleted.
  if (!job || job.metadata.uid !== owner.uid) return pod.metadata.deletionTimestamp === undefined;
  return isCounting(job, cache);
}

/** A job managed by another controller counts in its own way, and for as long as it likes. */
function isCounting(job: Job, cache: CacheView): boolean {
  const present = cache.get(Job, job.metadata);
  return present?.metadata.uid === job.metadata.uid && (isManagedElsewhere(present) || !isFinished(present));
}
