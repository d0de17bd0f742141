// Deletes pods from nodes with taints that they do not tolerate, or no longer: at once, or when the time is over for which they do.
// There is one timer for each node with such taints, not one for each pod: that of the pod that goes next.
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
      dueOn.delete(name); // what is left of its pods is garbage
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

/** A time that runs is not changed by other tolerations or taints, as long as there is one: it began when it was first due. */
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

/** For how long the pod bears all of the taints: for each the first toleration that is about it counts, and of these the shortest. */
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

/** Says why before it deletes: others count such a pod as disrupted, not as failed. */
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
