// Runs one pod of each DaemonSet on every node that it fits.
// Upstream: pkg/controller/daemon/daemon_controller.go.
import { ControllerRevision } from "#api/apps/v1/controller-revision.ts";
import { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { isEmptySelector, selects } from "#api/label-selection.ts";
import { equal, inBatches, min, slowStart } from "#base/collections.ts";
import {
  type Again,
  type CacheView,
  type Controller,
  controller,
  type Reconcile,
  watching,
} from "#client/controller.ts";
import type { ObjectKey } from "#client/object-key.ts";
import { controllerOf } from "#rules/owners.ts";
import { nextAvailableMs } from "#rules/pods.ts";
import { selectorMatcher } from "#schema/selector.ts";
import { claim } from "../owner.ts";
import { createPod, deletePod } from "../pod-writes.ts";
import { orphanPods, podsOnNode, wakenByOrphans } from "../pods.ts";
import { historyOf, truncateHistory } from "./history.ts";
import { Patience } from "./patience.ts";
import { pinnedTo, placementOf, placementsOf, podTemplate } from "./placement.ts";
import { byTarget, type DaemonPlan, type DaemonSetState, type EndedPodPolicy, planPlaces } from "./plan.ts";
import { statusOf } from "./status.ts";
import { planUpdate } from "./update.ts";

/** How many pods one reconcile creates or deletes at most. */
const burst = 250;
const deletionsAtOnce = 50;

export function daemonSetController(): Controller<typeof DaemonSet> {
  const patience = new Patience();
  return controller({
    name: "daemonset",
    for: DaemonSet,
    owns: [Pod],
    watches: [
      wakenByOrphans(DaemonSet, ({ spec }, pod) => selects(spec.selector, pod.metadata.labels)),
      watching(
        Node,
        concerned,
        (old, node) => !equal(old.metadata.labels, node.metadata.labels) || !equal(old.spec.taints, node.spec.taints),
      ),
    ],
    reads: [ControllerRevision],
    workers: 2,
    reconcile: (ds, context) => reconcile(ds, context, patience),
  });
}

/** The DaemonSets whose pods or status do not reflect a node yet. */
function concerned(node: Node, cache: CacheView): readonly ObjectKey[] {
  const { name = "" } = node.metadata;
  const owners = new Set(cache.by(podsOnNode, name).map((pod) => controllerOf(pod)?.uid));
  const isGone = cache.get(Node, { name }) === undefined;
  return cache
    .list(DaemonSet)
    .filter((ds) => {
      const isThere = owners.has(ds.metadata.uid);
      return isGone || placementOf(ds)(node).shouldRun !== isThere || (isThere && ds.status.numberMisscheduled > 0);
    })
    .map(({ metadata }) => metadata);
}

async function reconcile(ds: DaemonSet, context: Reconcile, patience: Patience): Promise<Again | undefined> {
  const { client, cache, clock, event } = context;
  if (isEmptySelector(ds.spec.selector)) {
    event("Warning", "SelectingAll", "This daemon set is selecting all pods. A non-empty selector is required.");
    return;
  }
  // The revisions of a DaemonSet that is being deleted may go before its pods: then the revision of a pod cannot be told.
  if (ds.metadata.deletionTimestamp !== undefined) return;
  const history = await historyOf(ds, await podsOf(ds, context), context);
  const { pods } = history;
  const scene: DaemonSetState = {
    ds,
    nodes: cache.list(Node),
    placement: placementsOf(ds),
    pods: byTarget(pods),
    hash: history.hash,
    now: clock.now(),
  };

  const waits: number[] = [];
  let failure: unknown;
  try {
    await act(scene, endedPods(ds, context, patience, waits), context);
    await truncateHistory(ds, history.old, pods, context);
  } catch (error) {
    failure = error;
  }

  const status = statusOf(scene);
  if (!equal(status, ds.status)) await client.update(DaemonSet, { ...ds, status }, "status");
  if (failure !== undefined) throw failure;
  const { minReadySeconds = 0 } = ds.spec;
  // Any pod wakes it, not only pods that the status counts: an update waits for surge pods, too.
  const nextMs = minReadySeconds > 0 ? nextAvailableMs(pods, minReadySeconds, scene.now) : undefined;
  if (nextMs !== undefined) waits.push(nextMs);
  const afterMs = min(waits);
  return afterMs === undefined ? undefined : { afterMs };
}

function podsOf(ds: DaemonSet, { client, cache }: Reconcile): Promise<readonly Pod[]> {
  return claim(client, {
    kind: Pod,
    candidates: [...cache.owned(Pod, ds), ...cache.by(orphanPods, ds.metadata.namespace ?? "")],
    ownerKind: DaemonSet,
    owner: ds,
    selects: selectorMatcher(ds.spec.selector),
  });
}

/** An update goes on only once every node has the pods it should have. */
async function act(scene: DaemonSetState, ended: EndedPodPolicy, context: Reconcile): Promise<void> {
  const places = planPlaces(scene, ended);
  if (places.create.length > 0 || places.delete.length > 0) return carryOut(places, scene, context);
  if (scene.ds.spec.updateStrategy.type === "RollingUpdate") await carryOut(planUpdate(scene), scene, context);
}

/** Deletes and creates; tries both, and then throws the first failure. */
async function carryOut(plan: DaemonPlan, { ds, hash }: DaemonSetState, context: Reconcile): Promise<void> {
  const template = podTemplate(ds, hash);
  const nodes = plan.create.slice(0, burst);
  const failures: unknown[] = [];
  try {
    await slowStart(nodes.length, (i) =>
      createPod({ kind: DaemonSet, owner: ds, template: pinnedTo(template, nodes[i] ?? "") }, context),
    );
  } catch (error) {
    failures.push(error);
  }
  await inBatches(deletionsAtOnce, plan.delete.slice(0, burst), async (pod) => {
    try {
      await deletePod(pod, context);
    } catch (error) {
      failures.push(error);
    }
  });
  if (failures.length > 0) throw failures[0];
}

/** Decides about pods that have ended, reports it as events, and adds to `waits` when to look again. */
const endedPods =
  ({ metadata, status }: DaemonSet, { clock, event }: Reconcile, patience: Patience, waits: number[]): EndedPodPolicy =>
  (pod, node) => {
    const { namespace, name } = pod.metadata;
    if (pod.status.phase === "Succeeded") {
      const message = `Found succeeded daemon pod ${namespace}/${name} on node ${node}, will try to delete it`;
      event("Normal", "SucceededDaemonPod", message);
      return "delete";
    }
    const waitMs = patience.waitMs(`${metadata.uid}/${status.observedGeneration ?? 0}/${node}`, clock);
    if (waitMs > 0) {
      waits.push(waitMs);
      return "wait";
    }
    const message = `Found failed daemon pod ${namespace}/${name} on node ${node}, will try to kill it`;
    event("Warning", "FailedDaemonPod", message);
    return "delete";
  };
