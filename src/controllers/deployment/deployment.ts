// Rolls out each Deployment: a ReplicaSet per template, grown and shrunk so that enough pods work at any time.
// Upstream: pkg/controller/deployment/deployment_controller.go.
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { isEmptySelector, selects } from "#api/label-selection.ts";
import { index } from "#client/cache.ts";
import { type Again, controller, type Reconcile, watching } from "#client/controller.ts";
import { controllerOf } from "#rules/owners.ts";
import { hasEnded, isActive } from "#rules/pods.ts";
import { selectorMatcher } from "#schema/selector.ts";
import { claim } from "../owner.ts";
import { desiredReplicasOf } from "./revisions.ts";
import { rollBack, rollbackRevision } from "./rollback.ts";
import { DeploymentRollout } from "./rollout.ts";
import { boundsOf, isRolling, newSize, oldSizes, proportionalSizes } from "./sizes.ts";
import { isComplete } from "./status.ts";

const orphanSets = index(ReplicaSet, (rs) => (controllerOf(rs) ? [] : [rs.metadata.namespace ?? ""]));

export const deploymentController = controller({
  name: "deployment",
  for: Deployment,
  owns: [ReplicaSet],
  watches: [
    watching(ReplicaSet, (rs, cache) =>
      controllerOf(rs)
        ? []
        : cache
            .list(Deployment, rs.metadata.namespace)
            .filter(({ spec }) => !isEmptySelector(spec.selector) && selects(spec.selector, rs.metadata.labels))
            .map(({ metadata }) => metadata),
    ),
    // A rollout waits for pods to go: those of a Recreate, and those that would be beyond the surge.
    watching(
      Pod,
      ({ metadata: { namespace, ownerReferences } }, cache) => {
        const owner = ownerReferences?.find(({ controller: manages, kind }) => manages && kind === ReplicaSet.kind);
        const rs = owner && cache.get(ReplicaSet, { namespace, name: owner.name });
        const deployment = controllerOf(rs ?? {});
        return deployment ? [{ namespace, name: deployment.name }] : [];
      },
      (old, pod) => isActive(old) !== isActive(pod) || hasEnded(old) !== hasEnded(pod),
      { exceptNew: true },
    ),
  ],

  async reconcile(deployment, context) {
    if (isEmptySelector(deployment.spec.selector)) return refuseAll(deployment, context);
    const rollout = new DeploymentRollout(deployment, await setsOf(deployment, context), context);
    await rollout.syncRevision();
    if (deployment.metadata.deletionTimestamp !== undefined) return rollout.report();
    rollout.notePause();
    const revision = rollbackRevision(deployment);
    if (deployment.spec.paused) {
      await rescale(rollout);
      if (revision === undefined) await rollout.cleanUp();
      return rollout.report();
    }
    if (revision !== undefined) return rollBack(rollout, revision);
    if (isScaled(rollout)) {
      await rescale(rollout);
      return rollout.report();
    }
    return isRolling(deployment) ? roll(rollout) : recreate(rollout);
  },
});

async function refuseAll(deployment: Deployment, { client, event }: Reconcile): Promise<undefined> {
  const message = "This deployment is selecting all pods. A non-empty selector is required.";
  event("Warning", "SelectingAll", message);
  const { generation } = deployment.metadata;
  if ((deployment.status.observedGeneration ?? 0) >= (generation ?? 0)) return;
  const status = { ...deployment.status, observedGeneration: generation };
  await client.update(Deployment, { ...deployment, status }, "status");
}

function setsOf(deployment: Deployment, { client, cache }: Reconcile): Promise<readonly ReplicaSet[]> {
  return claim(client, {
    kind: ReplicaSet,
    candidates: [...cache.owned(ReplicaSet, deployment), ...cache.by(orphanSets, deployment.metadata.namespace ?? "")],
    ownerKind: Deployment,
    owner: deployment,
    selects: selectorMatcher(deployment.spec.selector),
  });
}

const isPopulated = ({ spec }: ReplicaSet): boolean => spec.replicas > 0;

/** Whether the Deployment asks for another number of pods than when its sets were last sized. */
const isScaled = ({ sets, deployment }: DeploymentRollout): boolean =>
  sets
    .filter(isPopulated)
    .some((rs) => (desiredReplicasOf(rs) ?? deployment.spec.replicas) !== deployment.spec.replicas);

/** Brings the sets to the Deployment's new size without going on with the rollout. */
async function rescale(rollout: DeploymentRollout): Promise<void> {
  const { deployment, next, old, sets } = rollout;
  const { replicas } = deployment.spec;
  const populated = sets.filter(isPopulated);
  const [only] = populated.length > 0 ? populated : next ? [next] : old.toReversed();
  if (populated.length <= 1) {
    if (only) await rollout.scale(only, replicas);
    return;
  }
  if (next && isSaturated(next, replicas)) {
    for (const rs of old.filter(isPopulated)) await rollout.scale(rs, 0);
    return;
  }
  if (!isRolling(deployment)) return;
  for (const [rs, size] of proportionalSizes(deployment, populated)) await rollout.scale(rs, size);
}

const isSaturated = (rs: ReplicaSet, replicas: number): boolean =>
  rs.spec.replicas === replicas && desiredReplicasOf(rs) === replicas && rs.status.availableReplicas === replicas;

async function roll(rollout: DeploymentRollout): Promise<Again | undefined> {
  const { deployment } = rollout;
  const next = await rollout.ensureNext();
  const old = rollout.old.filter(isPopulated);
  const bounds = boundsOf(deployment);
  const sizeOfNext = rollout.sizeOf(next);
  const allOld = rollout.old.map((rs) => rollout.sizeOf(rs));
  const size = newSize(bounds, sizeOfNext, allOld);
  // What is grown shows its effect before anything is taken away.
  const hasScaled = size !== next.spec.replicas && (await rollout.scale(next, size));
  if (!hasScaled) {
    const sizes = oldSizes(
      bounds,
      sizeOfNext,
      old.map((rs) => rollout.sizeOf(rs)),
    );
    for (const [i, rs] of old.entries()) {
      const wanted = sizes[i] ?? rs.spec.replicas;
      if (wanted !== rs.spec.replicas) await rollout.scale(rs, wanted);
    }
  }
  if (isComplete(deployment, deployment.status)) await rollout.cleanUp();
  return rollout.reportProgress();
}

/** All old pods go before the first new one comes. */
async function recreate(rollout: DeploymentRollout): Promise<Again | undefined> {
  const { deployment } = rollout;
  let hasScaled = false;
  for (const rs of rollout.old.filter(isPopulated)) hasScaled = (await rollout.scale(rs, 0)) || hasScaled;
  if (hasScaled || rollout.old.some((rs) => rs.status.replicas > 0 || !rollout.podsOf(rs).every(hasEnded)))
    return rollout.reportProgress();
  const next = await rollout.ensureNext();
  if (next.spec.replicas !== deployment.spec.replicas) await rollout.scale(next, deployment.spec.replicas);
  if (isComplete(deployment, deployment.status)) await rollout.cleanUp();
  return rollout.reportProgress();
}
