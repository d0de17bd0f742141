// Writes the status of a pod, and deletes the pod when nothing is left of it, as upstream's pkg/kubelet/status/status_manager.go does.
import { Pod, type PodStatus } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import { isConflict, isNotFound } from "#base/errors.ts";
import type { Client } from "#client/client.ts";
import { isReady } from "#rules/conditions.ts";
import { hasEnded } from "#rules/pods.ts";
import { formatSteps } from "#wire/steps.ts";
import type { PodWorker } from "./pod-worker.ts";

/** Resolves with whether the pod in the API differs from the worker's, so that it has to be synced again. */
export async function writeStatus(worker: PodWorker, client: Client, signal: AbortSignal): Promise<boolean> {
  const { pod, uid } = worker;
  const { namespace, name = "" } = pod.metadata;
  const api = client.bound({ signal, because: worker.because });
  const status = worker.status();
  if (!status) return false;
  if (!equal(status, pod.status)) {
    const steps = worker.drainSteps();
    recordObservedSteps(worker, pod.status, status);
    const allSteps = [...steps, ...worker.drainSteps()];
    worker.statusInFlight = status;
    try {
      const writer = allSteps.length === 0 ? api : api.bound({ steps: formatSteps(allSteps) });
      worker.updatePod(await writer.update(Pod, { ...pod, status }, "status"));
    } catch (error) {
      worker.restoreSteps(steps);
      if (isNotFound(error)) return false; // the informer will tell
      if (!isConflict(error)) throw error;
      const present = await api.find(Pod, { namespace, name });
      return present?.metadata.uid === uid && worker.updatePod(present);
    } finally {
      worker.statusInFlight = undefined;
    }
  }
  if (!worker.isFinished || !hasEnded(worker.pod) || worker.pod.metadata.deletionTimestamp === undefined) return false;
  try {
    await api.delete(Pod, { namespace, name }, { graceSeconds: 0, preconditions: { uid } });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error; // it is gone, or another one has its name
  }
  return false;
}

/** Records steps that only the status shows: containers that ended, and that the pod became ready. */
function recordObservedSteps(worker: PodWorker, before: PodStatus, after: PodStatus): void {
  const knownEnds = new Set(before.containerStatuses?.map(({ state }) => state?.terminated?.containerID));
  for (const { name, state } of after.containerStatuses ?? [])
    if (state?.terminated && !knownEnds.has(state.terminated.containerID)) worker.recordStep("end", 0, name);
  if (isReady({ status: after }) && !isReady({ status: before })) worker.recordStep("ready", 0);
}
