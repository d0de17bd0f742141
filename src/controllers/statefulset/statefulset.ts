// Runs the pods of each StatefulSet: numbered, each with a name and storage that outlive it, created and replaced in order.
// Upstream: pkg/controller/statefulset/stateful_set.go.
import { ControllerRevision } from "#api/apps/v1/controller-revision.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { isValidSelector, selects } from "#api/label-selection.ts";
import { equal } from "#base/collections.ts";
import { controller, type Reconcile, watching } from "#client/controller.ts";
import { nextAvailableMs } from "#rules/pods.ts";
import { selectorMatcher } from "#schema/selector.ts";
import { revisionsOf } from "../controller-revisions.ts";
import { claim } from "../owner.ts";
import { orphanPods, wakenByOrphans } from "../pods.ts";
import { truncateHistory, versionsOf } from "./history.ts";
import { claimName, isMember, ordinalOf, templatesOf } from "./identity.ts";
import { StatefulSetRollout } from "./rollout.ts";
import { statusOf } from "./status.ts";

export const statefulSetController = controller({
  name: "statefulset",
  for: StatefulSet,
  owns: [Pod],
  watches: [
    wakenByOrphans(StatefulSet, (set, pod) => isMember(set, pod) && selects(set.spec.selector, pod.metadata.labels)),
    // A pod whose claim is on its way out is created once that is gone.
    watching(
      PersistentVolumeClaim,
      ({ metadata: { namespace, name = "" } }, cache) => {
        const ordinal = Number(/-([0-9]+)$/.exec(name)?.[1] ?? -1);
        return cache
          .list(StatefulSet, namespace)
          .filter((set) => templatesOf(set).some((template) => claimName(set, template, ordinal) === name))
          .map(({ metadata }) => metadata);
      },
      ({ metadata: old }, { metadata }) =>
        old.deletionTimestamp !== metadata.deletionTimestamp || !equal(old.ownerReferences, metadata.ownerReferences),
    ),
  ],
  reads: [ControllerRevision],

  async reconcile(set, context) {
    const { client, clock } = context;
    if (!isValidSelector(set.spec.selector)) return;
    const revisions = await revisionsOf(StatefulSet, set, context);
    const pods = await podsOf(set, context);
    const versions = await versionsOf(set, revisions, client);
    const rollout = new StatefulSetRollout(set, versions, pods, context);
    const now = clock.now();

    let failure: unknown;
    try {
      // The pods of one that is being deleted are the garbage collector's.
      if (set.metadata.deletionTimestamp === undefined) await rollout.run();
    } catch (error) {
      failure = error;
    }

    const members = pods.filter((pod) => ordinalOf(pod) >= 0);
    const status = statusOf(set, versions, members, { deleted: rollout.deleted, now });
    if (!equal(status, set.status)) await client.update(StatefulSet, { ...set, status }, "status");
    await truncateHistory(set, revisions, { pods, versions: [versions.current, versions.update] }, client);
    if (failure !== undefined) throw failure;
    const { minReadySeconds = 0 } = set.spec;
    if (minReadySeconds === 0 || (status.readyReplicas ?? 0) === status.availableReplicas) return;
    return { afterMs: nextAvailableMs(pods, minReadySeconds, now) ?? minReadySeconds * 1000 };
  },
});

/** Whoever has other labels or another name than a member is let go. */
function podsOf(set: StatefulSet, { client, cache }: Reconcile): Promise<readonly Pod[]> {
  const isSelected = selectorMatcher(set.spec.selector);
  return claim(client, {
    kind: Pod,
    candidates: [...cache.owned(Pod, set), ...cache.by(orphanPods, set.metadata.namespace ?? "")],
    ownerKind: StatefulSet,
    owner: set,
    selects: (labels, pod) => isSelected(labels) && isMember(set, pod),
  });
}
