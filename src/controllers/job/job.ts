// Runs pods until enough of them have succeeded, or too many have failed. What to do is decided in look.ts and decide.ts, and what
// to write down in account.ts; here it is done.
// Upstream: pkg/controller/job/job_controller.go.
import { Job, type JobCondition, type JobStatus } from "#api/batch/v1/job.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { selects } from "#api/label-selection.ts";
import { equal, inBatches, min, slowStart } from "#base/collections.ts";
import { isNotFound } from "#base/errors.ts";
import { type Again, type Controller, controller, type Reconcile } from "#client/controller.ts";
import { keyOfObject } from "#client/object-key.ts";
import { isReady } from "#rules/conditions.ts";
import { selectorMatcher } from "#schema/selector.ts";
import { claim } from "../owner.ts";
import { createPod, deletePod } from "../pod-writes.ts";
import { orphanPods, wakenByOrphans } from "../pods.ts";
import { account, type Books, finish, type PodOutcome, settle } from "./account.ts";
import type { Failures } from "./backoff.ts";
import { isFinished } from "./conditions.ts";
import { decide, type JobAction } from "./decide.ts";
import { look, type Sight } from "./look.ts";
import { isTracked, podOf, trackingFinalizer } from "./pods.ts";

const atOnce = 50;
/** A job with spec.managedBy of another controller is left alone. */
const ownName = "kubernetes.io/job-controller";

export const isManagedElsewhere = ({ spec }: Job): boolean =>
  spec.managedBy !== undefined && spec.managedBy !== ownName;

export function jobController(): Controller<typeof Job> {
  // Pods that failed are gone once they are counted; how often, and when last, is only remembered here.
  const failures = new Map<string, { readonly uid: string | undefined; readonly known: Failures | undefined }>();
  return controller({
    name: "job",
    for: Job,
    owns: [Pod],
    watches: [wakenByOrphans(Job, ({ spec }, pod) => selects(spec.selector, pod.metadata.labels))],
    batchMs: 1000,
    backoff: { firstMs: 1000, maxMs: 60_000 },

    async reconcile(job, context) {
      if (isManagedElsewhere(job)) return;
      const key = keyOfObject(job);
      if (isFinished(job)) {
        failures.delete(key);
        return;
      }
      const { completionMode } = job.spec;
      if (completionMode !== "NonIndexed" && completionMode !== "Indexed") {
        context.event("Warning", "UnknownCompletionMode", "Skipped Job sync because completion mode is unknown");
        return;
      }
      const remembered = failures.get(key);
      const { uid } = job.metadata;
      return reconcileJob(job, remembered?.uid === uid ? remembered?.known : undefined, context, (known) => {
        failures.set(key, { uid, known });
      });
    },
    async gone({ namespace, name }) {
      failures.delete(keyOfObject({ metadata: { namespace, name } }));
    },
  });
}

async function reconcileJob(
  job: Job,
  failures: Failures | undefined,
  context: Reconcile,
  remember: (failures: Failures | undefined) => void,
): Promise<Again | undefined> {
  const { client, cache, clock } = context;
  const pods = await claim(client, {
    kind: Pod,
    candidates: [...cache.owned(Pod, job), ...cache.by(orphanPods, job.metadata.namespace ?? "")],
    ownerKind: Job,
    owner: job,
    selects: selectorMatcher(job.spec.selector),
    finalizers: [trackingFinalizer],
  });
  const now = clock.now();
  const sight = look(job, pods, failures, now);
  const action = decide(sight, now);
  const outcome = await act(sight, action, context);
  const books = account(sight, outcome, now);
  const isChanged = !equal(books.status, job.status);
  const written = isChanged ? await client.update(Job, { ...job, status: books.status }, "status") : job;
  if (isChanged) remember(sight.failures);
  if (books.turned) context.event("Normal", books.turned, `Job ${books.turned.toLowerCase()}`);
  await close(written, books, context);
  if (outcome.failure !== undefined) throw outcome.failure;
  const waits = [sight.deadlineMs, action.type === "wait" ? action.forMs : undefined].filter((ms) => ms !== undefined);
  const afterMs = min(waits);
  return afterMs === undefined ? undefined : { afterMs };
}

/** Does what was decided, as far as it can be done. */
async function act(
  { job, active, ready, terminating, indexes }: Sight,
  action: JobAction,
  context: Reconcile,
): Promise<PodOutcome> {
  const isManaged = action.type !== "end" && job.metadata.deletionTimestamp === undefined;
  const before = { active: active.length, ready, terminating, isManaged };
  if (action.type === "create") {
    let created = 0;
    const make = async (i: number) => {
      const index = action.indexes[i];
      const failed = index === undefined ? undefined : indexes?.held.get(index);
      await createPod({ kind: Job, owner: job, ...podOf(job, index, failed) }, context);
      created++;
    };
    const failure = await failureIn(slowStart(action.indexes.length, make));
    return { ...before, active: before.active + created, failure };
  }
  if (action.type !== "end" && action.type !== "discard") return before;
  const { done, failure } = await eachPod(action.pods, async (pod) => {
    // Without the finalizer it will not be counted.
    if (action.type === "discard") await untrack(pod, context);
    await deletePod(pod, context);
  });
  return {
    isManaged,
    active: before.active - done.length,
    ready: ready - done.filter(isReady).length,
    terminating: terminating + done.length,
    failure,
  };
}

/** Removes the finalizers of the pods whose uids are in the status, counts these pods, and ends the job if all pods are counted. */
async function close(job: Job, { counted, tracked, end }: Books, context: Reconcile): Promise<void> {
  const { client, clock, event } = context;
  const { done, failure } = await eachPod(counted, (pod) => untrack(pod, context));
  const gone = new Set(done.map(({ metadata }) => metadata.uid));
  const settled = settle(job.status, new Set([...tracked].filter((uid) => !gone.has(uid))));
  const finished = failure === undefined ? finish(settled, end, clock.now()) : undefined;
  const status = finished ?? settled;
  if (!equal(status, job.status)) await client.update(Job, { ...job, status }, "status");
  if (failure !== undefined) throw failure;
  if (finished && end) report(job, finished, end, event);
}

function report({ spec }: Job, { succeeded = 0 }: JobStatus, end: JobCondition, event: Reconcile["event"]): void {
  if (end.type === "Failed") {
    event("Warning", end.reason ?? "", end.message ?? "");
    return;
  }
  if (spec.completions !== undefined && succeeded > spec.completions)
    event("Warning", "TooManySucceededPods", "Too many succeeded pods running after completion count reached");
  event("Normal", "Completed", "Job completed");
}

/** Takes the finalizer from the pod, if it has it and is still there. */
export async function untrack(pod: Pod, { client }: Reconcile): Promise<void> {
  if (!isTracked(pod)) return;
  const metadata = { "$deleteFromPrimitiveList/finalizers": [trackingFinalizer] };
  try {
    await client.patch(Pod, pod.metadata, "strategic", { metadata });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Tries all; tells for which it worked, and the first failure. */
async function eachPod(
  pods: readonly Pod[],
  work: (pod: Pod) => Promise<void>,
): Promise<{ readonly done: readonly Pod[]; readonly failure: unknown }> {
  const done: Pod[] = [];
  const failures: unknown[] = [];
  await inBatches(atOnce, pods, async (pod) => {
    const failure = await failureIn(work(pod));
    if (failure === undefined) done.push(pod);
    else failures.push(failure);
  });
  return { done, failure: failures[0] };
}

const failureIn = (work: Promise<void>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
