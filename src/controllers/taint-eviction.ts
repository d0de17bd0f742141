// Deletes pods from nodes with NoExecute taints that they do not tolerate: at once, or when their tolerationSeconds are over. There is one
// timer for each such node, not one for each pod: it fires for the pod that is due next.
// Upstream: pkg/controller/tainteviction/taint_eviction.go.

import { Node, type Taint } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { equal, inBatches, min } from "#base/collections.ts";
import { isNotFound } from "#base/errors.ts";
import { type Again, type Controller, controller, type Reconcile, watching } from "#client/controller.ts";
import { tolerates } from "#rules/tolerations.ts";
import { timeOf } from "#schema/time.ts";
import { podsOnNode } from "./pods.ts";

const deletionsAtOnce = 20;

/** When pods of a node are due, by their uids, on the clock that does not jump. */
type Due = Map<string, number>;

export function taintEvictionController(): Controller<typeof Node> {
  const dueOn = new Map<string, Due>();
  return controller({
    name: "taint-eviction",
    queue: "noexec_taint_node",
    for: Node,
    watches: [
      watching(
        Pod,
        ({ spec: { nodeName: name = "" } }, cache) =>
          dueOn.has(name) || drivesOut(cache.get(Node, { name })) ? [{ name }] : [],
        (old, pod) => old.spec.nodeName !== pod.spec.nodeName || !equal(old.spec.tolerations, pod.spec.tolerations),
      ),
    ],
    workers: 8,

    async reconcile(node, context) {
      const { name = "" } = node.metadata;
      const taints = (node.spec.taints ?? []).filter(isDriving);
      const due: Due = dueOn.get(name) ?? new Map();
      if (taints.length === 0 && due.size === 0) return;
      dueOn.set(name, due);
      const again = await evict(name, taints, due, context);
      if (due.size === 0) dueOn.delete(name);
      return again;
    },

    async gone({ name }) {
      dueOn.delete(name); // its pods are left to the pod garbage collector
    },
  });
}

const isDriving = ({ effect }: Taint): boolean => effect === "NoExecute";
const drivesOut = (node: Node | undefined): boolean => node?.spec.taints?.some(isDriving) ?? false;

async function evict(node: string, taints: readonly Taint[], due: Due, context: Reconcile): Promise<Again | undefined> {
  const { cache, clock } = context;
  const pods = cache.by(podsOnNode, node).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const present = new Set(pods.map(({ metadata }) => metadata.uid));
  for (const uid of due.keys()) if (!present.has(uid)) due.delete(uid);
  const now = clock.elapsed();
  for (const pod of pods) plan(pod, toleratedMs(pod, taints), due, now, context);
  const over = pods.filter(({ metadata: { uid = "" } }) => (due.get(uid) ?? Number.POSITIVE_INFINITY) <= now);
  await inBatches(deletionsAtOnce, over, async (pod) => {
    await deletePod(pod, context);
    due.delete(pod.metadata.uid ?? "");
  });
  const nextAt = min([...due.values()]);
  return nextAt === undefined ? undefined : { afterMs: nextAt - now };
}

/** A running timer is not changed by other tolerations or taints while the pod still has to go: it counts from the first taint. */
function plan(pod: Pod, forMs: number, due: Due, now: number, { event }: Reconcile): void {
  const { namespace, name, uid = "" } = pod.metadata;
  const planned = due.get(uid);
  const isForever = forMs === Number.POSITIVE_INFINITY;
  if (planned !== undefined && (isForever || (forMs === 0 && planned > now))) {
    event("Normal", "TaintManagerEviction", `Cancelling deletion of Pod ${namespace}/${name}`, pod);
    due.delete(uid);
  }
  if (!isForever && !due.has(uid)) due.set(uid, now + forMs);
}

/** For how long the pod tolerates all of the taints: the shortest time over all taints, each with the first toleration that matches it. */
export function toleratedMs({ spec }: Pod, taints: readonly Taint[]): number {
  let shortest = Number.POSITIVE_INFINITY;
  for (const taint of taints) {
    const toleration = spec.tolerations?.find((one) => tolerates(one, taint));
    if (!toleration) return 0;
    const { tolerationSeconds = Number.POSITIVE_INFINITY } = toleration;
    shortest = Math.min(shortest, Math.max(0, tolerationSeconds * 1000));
  }
  return shortest;
}

/** Sets the condition DisruptionTarget before the deletion, so that others count the pod as disrupted and not as failed. */
async function deletePod(pod: Pod, { client, clock, event }: Reconcile): Promise<void> {
  const { namespace, name = "", uid } = pod.metadata;
  event("Normal", "TaintManagerEviction", `Marking for deletion Pod ${namespace}/${name}`, pod);
  const disrupted = {
    type: "DisruptionTarget",
    status: "True",
    reason: "DeletionByTaintManager",
    message: "Taint manager: deleting due to NoExecute taint",
  };
  const present = pod.status.conditions?.find(({ type }) => type === "DisruptionTarget");
  const isMarked = present?.status === "True" && present.reason === disrupted.reason;
  try {
    if (!isMarked) {
      const lastTransitionTime = present?.status === "True" ? present.lastTransitionTime : timeOf(clock.now());
      const observed = pod.status.observedGeneration ? { observedGeneration: pod.metadata.generation } : {};
      const status = { conditions: [{ ...disrupted, ...observed, lastTransitionTime }] };
      await client.patch(
        Pod,
        { namespace, name },
        "strategic",
        { metadata: { uid }, status },
        { subresource: "status" },
      );
    }
    await client.delete(Pod, { namespace, name }, { preconditions: { uid: uid ?? "" } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
