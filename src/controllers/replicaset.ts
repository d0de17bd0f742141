// Keeps as many pods running as each ReplicaSet asks for.
// Upstream: pkg/controller/replicaset/replica_set.go.
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { selects } from "#api/label-selection.ts";
import { type CacheView, controller } from "#client/controller.ts";
import { controllerOf } from "#rules/owners.ts";
import { selectorMatcher } from "#schema/selector.ts";
import { orphanPods, wakenByOrphans } from "./pods.ts";
import { reconcileReplicas } from "./replicas.ts";

export const replicaSetController = controller({
  name: "replicaset",
  for: ReplicaSet,
  owns: [Pod],
  watches: [wakenByOrphans(ReplicaSet, ({ spec }, pod) => selects(spec.selector, pod.metadata.labels))],

  async reconcile(rs, context) {
    const { replicas, minReadySeconds = 0, template, selector } = rs.spec;
    const { client, cache } = context;
    return reconcileReplicas(
      {
        kind: ReplicaSet,
        object: rs,
        replicas,
        minReadySeconds,
        template,
        status: rs.status,
        selects: selectorMatcher(selector),
        countsTerminating: true,
        related: () => siblings(rs, cache).flatMap((one) => podsOf(one, cache)),
        writeStatus: (status) => client.update(ReplicaSet, { ...rs, status }, "status"),
      },
      context,
    );
  },
});

/** The ReplicaSets of the same Deployment, this one among them. Upstream finds none for a set without owner, and then ignores nodes. */
function siblings(rs: ReplicaSet, cache: CacheView): readonly ReplicaSet[] {
  const owner = controllerOf(rs);
  return owner ? cache.owned(ReplicaSet, { metadata: { uid: owner.uid } }) : [rs];
}

const podsOf = (rs: ReplicaSet, cache: CacheView): readonly Pod[] => {
  const isSelected = selectorMatcher(rs.spec.selector);
  const all = [...cache.owned(Pod, rs), ...cache.by(orphanPods, rs.metadata.namespace ?? "")];
  return all.filter(({ metadata }) => isSelected(metadata.labels));
};
