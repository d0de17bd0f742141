// Deletes jobs some time after they have ended.
// Upstream: pkg/controller/ttlafterfinished/ttlafterfinished_controller.go.

import { Job } from "#api/batch/v1/job.ts";
import { isNotFound } from "#base/errors.ts";
import { controller } from "#client/controller.ts";
import { millisOf } from "#schema/time.ts";
import { endCondition } from "./job/conditions.ts";

export const ttlAfterFinishedController = controller({
  name: "ttl-after-finished",
  queue: "ttl_jobs_to_delete",
  for: Job,

  async reconcile(job, { client, clock }) {
    const cached = expiresAt(job);
    if (cached === undefined) return;
    if (cached > clock.now()) return { afterMs: cached - clock.now() };
    // The time may have been changed meanwhile, and what is deleted does not come back.
    const fresh = await client.find(Job, job.metadata);
    const due = fresh && expiresAt(fresh);
    if (due === undefined) return;
    if (due > clock.now()) return { afterMs: due - clock.now() };
    const preconditions = { uid: fresh?.metadata.uid ?? "" };
    try {
      await client.delete(Job, job.metadata, { propagation: "Foreground", preconditions });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return undefined;
  },
});

/** When the job is to be deleted, in milliseconds since 1970; undefined if it is not, or not yet known. */
function expiresAt(job: Job): number | undefined {
  const { metadata, spec } = job;
  if (metadata.deletionTimestamp !== undefined || spec.ttlSecondsAfterFinished === undefined) return undefined;
  const end = endCondition(job);
  if (!end?.lastTransitionTime) return undefined;
  return millisOf(end.lastTransitionTime) + spec.ttlSecondsAfterFinished * 1000;
}
