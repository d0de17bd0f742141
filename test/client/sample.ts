// A controller as people write it, small enough to be judged by eye: as many pods as the ReplicaSet says.
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { equal, slowStart } from "#base/collections.ts";
import { controller } from "#client/controller.ts";
import { controlledBy } from "#rules/owners.ts";

export const sampleReplicaSets = controller({
  name: "replicaset",
  for: ReplicaSet,
  owns: [Pod],
  async reconcile(rs, { client, cache, event }) {
    if (rs.metadata.deletionTimestamp !== undefined) return;
    const pods = cache.owned(Pod, rs).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    await slowStart(rs.spec.replicas - pods.length, async () => {
      const pod = await client.create(Pod, podOf(rs));
      event("Normal", "SuccessfulCreate", `Created pod: ${pod.metadata.name}`);
    });
    for (const pod of pods.slice(rs.spec.replicas)) await client.delete(Pod, pod.metadata);
    const status = { ...rs.status, replicas: pods.length };
    if (!equal(status, rs.status)) await client.update(ReplicaSet, { ...rs, status }, "status");
  },
});

const podOf = (rs: ReplicaSet) => ({
  spec: rs.spec.template.spec,
  metadata: {
    ...rs.spec.template.metadata,
    generateName: `${rs.metadata.name}-`,
    namespace: rs.metadata.namespace,
    ownerReferences: [controlledBy(ReplicaSet, rs)],
  },
});

export const replicaSet = (name: string, replicas: number) => ({
  metadata: { name, namespace: "default" },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "c", image: "nginx" }] } },
  },
});
