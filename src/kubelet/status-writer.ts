// Tells the API what became of a pod, and removes the pod when nothing is left of it.
import { Pod } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import { type Client, isConflict, isNotFound } from "#client/client.ts";
import { causeOf, keyOf } from "#client/place.ts";
import type { PodWorker } from "./pod-worker.ts";

/** Whether the pod turned out to be another than the worker thought: then it has to look again. */
export async function writeStatus(worker: PodWorker, client: Client, signal: AbortSignal): Promise<boolean> {
  const { pod, uid } = worker;
  const { namespace, name = "", resourceVersion } = pod.metadata;
  const api = client.bound({ signal, because: causeOf(Pod, keyOf({ namespace, name }), resourceVersion) });
  const status = worker.status();
  if (!status) return false;
  if (!equal(status, pod.status)) {
    try {
      worker.saw(await api.update(Pod, { ...pod, status }, "status"));
    } catch (error) {
      if (isNotFound(error)) return false; // the informer will tell
      if (!isConflict(error)) throw error;
      const present = await api.find(Pod, { namespace, name });
      return present?.metadata.uid === uid && worker.saw(present);
    }
  }
  const { phase } = worker.pod.status;
  const hasEnded = phase === "Succeeded" || phase === "Failed";
  if (!worker.isFinished || !hasEnded || worker.pod.metadata.deletionTimestamp === undefined) return false;
  try {
    await api.delete(Pod, { namespace, name }, { graceSeconds: 0, preconditions: { uid } });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error; // it is gone, or another one has its name
  }
  return false;
}
