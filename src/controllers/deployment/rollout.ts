// One look at one Deployment: its ReplicaSets, what is done to them, and what is reported in the end, in a single write.
// Upstream: pkg/controller/deployment/sync.go, pkg/controller/deployment/rolling.go and pkg/controller/deployment/recreate.go.
import { Deployment, type DeploymentStatus } from "#api/apps/v1/deployment.ts";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import { explain, isNotFound, isReason } from "#base/errors.ts";
import type { Again, Reconcile } from "#client/controller.ts";
import { controlledBy } from "#rules/owners.ts";
import { isActive } from "#rules/pods.ts";
import { isNamespaceTerminating } from "../pod-writes.ts";
import { templateHash } from "../template-hash.ts";
import {
  type Annotations,
  inOrder,
  newSetAnnotations,
  nextRevision,
  revisionAnnotation,
  sizeAnnotations,
} from "./revisions.ts";
import { boundsOf, byCreation, newSize, type Size } from "./sizes.ts";
import {
  conditionOf,
  countedStatus,
  deadlineCheckMs,
  hasDeadline,
  rolloutStatus,
  withCondition,
  withPause,
} from "./status.ts";
import { sameTemplate, withHash } from "./template.ts";

const keepsAll = 2 ** 31 - 1;
const longestName = 253;

export class DeploymentRollout {
  readonly deployment: Deployment;
  readonly context: Reconcile;
  readonly #now: number;
  #sets: readonly ReplicaSet[];
  #status: DeploymentStatus;
  #annotations: Annotations;

  constructor(deployment: Deployment, sets: readonly ReplicaSet[], context: Reconcile) {
    this.deployment = deployment;
    this.context = context;
    this.#now = context.clock.now();
    this.#sets = sets.toSorted(byCreation);
    this.#status = deployment.status;
    this.#annotations = deployment.metadata.annotations ?? {};
  }

  get sets(): readonly ReplicaSet[] {
    return this.#sets;
  }

  /** The set of the present template; the oldest, should there be several. */
  get next(): ReplicaSet | undefined {
    return this.#sets.find(({ spec }) => sameTemplate(spec.template, this.deployment.spec.template));
  }

  /** All other sets, the oldest first. */
  get old(): readonly ReplicaSet[] {
    const { next } = this;
    return this.#sets.filter((rs) => rs !== next);
  }

  sizeOf(rs: ReplicaSet): Size {
    const pods = this.podsOf(rs).filter(isActive).length;
    return { replicas: rs.spec.replicas, pods, available: rs.status.availableReplicas ?? 0 };
  }

  podsOf(rs: ReplicaSet): readonly Pod[] {
    return this.context.cache.owned(Pod, rs);
  }

  notePause(): void {
    this.#status = withPause(this.deployment, this.#status, this.#now);
  }

  /** Sees to it that the new set, if there is one, has the newest revision, and that the Deployment says which that is. */
  async syncRevision(): Promise<void> {
    const { deployment, next } = this;
    if (!next) return;
    const { minReadySeconds } = deployment.spec;
    const { annotations = {} } = next.metadata;
    const wanted = newSetAnnotations(deployment, annotations, nextRevision(this.old));
    const isChanged = !equal(wanted, annotations) || (next.spec.minReadySeconds ?? 0) !== (minReadySeconds ?? 0);
    if (isChanged) {
      const { minReadySeconds: _before, ...spec } = next.spec;
      const metadata = { ...next.metadata, annotations: wanted };
      await this.#update(next, { ...next, metadata, spec: { ...spec, ...(minReadySeconds && { minReadySeconds }) } });
    }
    this.#noteRevision(wanted[revisionAnnotation] ?? "");
    if (hasDeadline(deployment) && !conditionOf(this.#status, "Progressing"))
      this.#noteProgress("True", "FoundNewReplicaSet", `Found new replica set "${next.metadata.name}"`);
  }

  /** The new set, made if need be. */
  async ensureNext(): Promise<ReplicaSet> {
    return this.next ?? this.#create();
  }

  async #create(): Promise<ReplicaSet> {
    const { deployment, context } = this;
    const draft = this.#draft();
    const { name } = draft.metadata;
    try {
      const made = await context.client.create(ReplicaSet, draft);
      if (draft.spec.replicas > 0)
        context.event("Normal", "ScalingReplicaSet", `Scaled up replica set ${name} from 0 to ${draft.spec.replicas}`);
      if (hasDeadline(deployment))
        this.#noteProgress("True", "NewReplicaSetCreated", `Created new replica set "${name}"`);
      this.#noteRevision(draft.metadata.annotations[revisionAnnotation] ?? "");
      this.#sets = [...this.#sets, made];
      return made;
    } catch (error) {
      await this.#notCreated(name, error);
      throw error;
    }
  }

  #draft() {
    const { deployment } = this;
    const { metadata, spec } = deployment;
    const hash = templateHash(spec.template, this.#status.collisionCount);
    const { template, selector } = withHash(spec, hash);
    const bounds = boundsOf(deployment);
    const none = { replicas: 0, pods: 0, available: 0 };
    const isRecreate = spec.strategy.type === "Recreate";
    const replicas = isRecreate
      ? spec.replicas
      : newSize(
          bounds,
          none,
          this.old.map((rs) => this.sizeOf(rs)),
        );
    return {
      metadata: {
        name: `${metadata.name.slice(0, longestName - 1 - hash.length)}-${hash}`,
        namespace: metadata.namespace,
        labels: template.metadata.labels,
        annotations: {
          ...newSetAnnotations(deployment, {}, nextRevision(this.old)),
          ...sizeAnnotations(bounds.replicas, bounds.surge),
        },
        ownerReferences: [controlledBy(Deployment, deployment)],
      },
      spec: { replicas, minReadySeconds: spec.minReadySeconds, selector, template },
    };
  }

  /** A name that is taken by another template gets a different hash next time. Everything else is reported. */
  async #notCreated(name: string, error: unknown): Promise<void> {
    const { deployment, context } = this;
    if (isNamespaceTerminating(error)) return;
    if (isReason(error, "AlreadyExists")) {
      const taken = await context.client.find(ReplicaSet, { namespace: deployment.metadata.namespace, name });
      const owner = taken?.metadata.ownerReferences?.find(({ controller }) => controller)?.uid;
      // Our own, which the cache does not show yet: it will.
      if (owner === deployment.metadata.uid && taken && sameTemplate(taken.spec.template, deployment.spec.template))
        return;
      this.#status = { ...this.#status, collisionCount: (this.#status.collisionCount ?? 0) + 1 };
      await this.#write();
      return;
    }
    const message = `Failed to create new replica set "${name}": ${explain(error)}`;
    if (hasDeadline(deployment)) this.#noteProgress("False", "ReplicaSetCreateError", message);
    context.event("Warning", "ReplicaSetCreateError", message);
    await this.#write();
  }

  /** Gives a set a size, and notes for how many pods that was. True if the size is another one now. */
  async scale(rs: ReplicaSet, replicas: number): Promise<boolean> {
    const bounds = boundsOf(this.deployment);
    const annotations = { ...rs.metadata.annotations, ...sizeAnnotations(bounds.replicas, bounds.surge) };
    const from = rs.spec.replicas;
    if (from === replicas && equal(annotations, rs.metadata.annotations)) return false;
    await this.#update(rs, { ...rs, metadata: { ...rs.metadata, annotations }, spec: { ...rs.spec, replicas } });
    if (from === replicas) return false;
    const message = `Scaled ${from < replicas ? "up" : "down"} replica set ${rs.metadata.name} from ${from} to ${replicas}`;
    this.context.event("Normal", "ScalingReplicaSet", message);
    return true;
  }

  async #update(rs: ReplicaSet, wanted: ReplicaSet): Promise<void> {
    const updated = await this.context.client.update(ReplicaSet, wanted);
    this.#sets = this.#sets.map((one) => (one === rs ? updated : one));
  }

  /** Deletes old sets beyond the history that is to be kept, but none that has pods or has not been looked at. */
  async cleanUp(): Promise<void> {
    const { revisionHistoryLimit } = this.deployment.spec;
    if (revisionHistoryLimit === keepsAll) return;
    const old = inOrder(this.old.filter(({ metadata }) => metadata.deletionTimestamp === undefined));
    for (const { metadata, spec, status } of old.slice(0, Math.max(0, old.length - revisionHistoryLimit))) {
      if (status.replicas !== 0 || spec.replicas !== 0) continue;
      if ((metadata.generation ?? 0) > (status.observedGeneration ?? 0)) continue;
      try {
        await this.context.client.delete(ReplicaSet, metadata);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }

  /** Reports the counts only: of a Deployment that is paused, being scaled or being deleted. */
  async report(): Promise<undefined> {
    this.#status = countedStatus(this.deployment, this.#status, { next: this.next, all: this.#sets }, this.#now);
    await this.#write();
  }

  /** Reports the counts and the progress of the rollout, and asks to be called again when it may be stuck. */
  async reportProgress(): Promise<Again | undefined> {
    const sets = { next: this.next, all: this.#sets };
    this.#status = rolloutStatus(this.deployment, this.#status, sets, this.#now);
    await this.#write();
    const afterMs = deadlineCheckMs(this.deployment, this.#status, this.#now);
    return afterMs === undefined ? undefined : { afterMs };
  }

  async #write(): Promise<void> {
    const { metadata, status } = this.deployment;
    if (equal(this.#status, status) && equal(this.#annotations, metadata.annotations ?? {})) return;
    const noted = { ...metadata, annotations: this.#annotations };
    await this.context.client.update(
      Deployment,
      { ...this.deployment, metadata: noted, status: this.#status },
      "status",
    );
  }

  #noteRevision(revision: string): void {
    this.#annotations = { ...this.#annotations, [revisionAnnotation]: revision };
  }

  #noteProgress(value: "True" | "False", reason: string, message: string): void {
    this.#status = withCondition(this.#status, "Progressing", [value, reason, message], this.#now);
  }
}
