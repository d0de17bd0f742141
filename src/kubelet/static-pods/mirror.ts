// Mirror pods: shows static pods in the API.
// Upstream: pkg/kubelet/pod/mirror_client.go.
import { Pod } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import { isConflict, isNotFound, isReason } from "#base/errors.ts";
import type { Client } from "#client/client.ts";
import type { PodWorker } from "../pod-worker.ts";
import { mirroredHash, mirrorOf } from "./static-pod.ts";

export interface MirrorContext {
  readonly client: Client;
  /** The pod of that name in the API, if there is one. */
  readonly presentMirror: Pod | undefined;
  readonly node: { readonly name: string; readonly uid: string };
}

/** Makes the mirror if it is missing, was deleted or stands for an earlier file, and writes what there is to tell. */
export async function writeMirror(worker: PodWorker, context: MirrorContext, signal: AbortSignal): Promise<void> {
  const { client, presentMirror, node } = context;
  const status = worker.status();
  if (!status) return;
  const { pod, uid } = worker;
  worker.pod = { ...pod, status }; // there is no other place where it could be remembered
  const api = client.bound({ signal });
  const isGood =
    presentMirror && mirroredHash(presentMirror) === uid && presentMirror.metadata.deletionTimestamp === undefined;
  if (presentMirror && !isGood) await removeMirror(presentMirror, client, signal);
  try {
    const mirror = isGood ? presentMirror : await api.create(Pod, mirrorOf(pod, node));
    if (!equal(mirror.status, status)) await api.update(Pod, { ...mirror, status }, "status");
  } catch (error) {
    // Somebody was there before: the informer will tell, and the worker is woken by that.
    if (!isReason(error, "AlreadyExists") && !isConflict(error) && !isNotFound(error)) throw error;
  }
}

/** A pod that stands for itself is none of ours to remove. */
export async function removeMirror(mirror: Pod, client: Client, signal: AbortSignal): Promise<void> {
  const { namespace, name, uid } = mirror.metadata;
  if (mirroredHash(mirror) === undefined) return;
  try {
    await client.bound({ signal }).delete(Pod, { namespace, name }, { graceSeconds: 0, preconditions: { uid } });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
