// How many pods each ReplicaSet of a Deployment should have. Pure arithmetic.
// Upstream: pkg/controller/deployment/rolling.go and pkg/controller/deployment/util/deployment_util.go.
import type { Deployment } from "#api/apps/v1/deployment.ts";
import type { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { scaledValueOf } from "#schema/int-or-string.ts";
import { maxReplicasOf } from "./revisions.ts";

/** How far a rollout may stray from the number of pods that is wanted. */
export interface Bounds {
  readonly replicas: number;
  /** How many pods there may be beyond that. */
  readonly surge: number;
  /** How many of them may be missing. */
  readonly unavailable: number;
}

export const isRolling = ({ spec }: Deployment): boolean => spec.strategy.type === "RollingUpdate";

/** Percentages round so that at least one of the two is not zero: else nothing could ever move. */
export function boundsOf(deployment: Deployment): Bounds {
  const { replicas, strategy } = deployment.spec;
  if (!isRolling(deployment)) return { replicas, surge: 0, unavailable: 0 };
  const { maxSurge = 0, maxUnavailable = 0 } = strategy.rollingUpdate ?? {};
  const surge = scaledValueOf(maxSurge, replicas, "up");
  const unavailable = scaledValueOf(maxUnavailable, replicas, "down");
  return { replicas, surge, unavailable: Math.min(replicas, surge === 0 && unavailable === 0 ? 1 : unavailable) };
}

/** A ReplicaSet as far as a rollout counts. */
export interface Size {
  /** `spec.replicas`. */
  readonly replicas: number;
  /** `status.replicas`. */
  readonly pods: number;
  readonly available: number;
}

/** Upstream counts spec.replicas only; we also count pods that are still there, or pods not yet deleted would exceed the surge. */
const presence = ({ replicas, pods }: Size): number => Math.max(replicas, pods);
/** A set that was just scaled down may still report pods as available that it is about to delete. */
const lasting = ({ replicas, available }: Size): number => Math.min(replicas, available);
const sum = <T>(items: readonly T[], of: (item: T) => number): number => items.reduce((n, item) => n + of(item), 0);

/** How large the new set may be now. */
export function newSize({ replicas, surge }: Bounds, next: Size, old: readonly Size[]): number {
  if (next.replicas >= replicas) return replicas;
  const room = replicas + surge - presence(next) - sum(old, presence);
  return next.replicas + Math.max(0, Math.min(room, replicas - next.replicas));
}

/** How large the old sets should be now, from the oldest on: pods that do not work go first, since nobody misses them. */
export function oldSizes({ replicas, unavailable }: Bounds, next: Size, old: readonly Size[]): readonly number[] {
  const least = replicas - unavailable;
  const missing = next.replicas - lasting(next);
  const sizes = old.map((set) => set.replicas);
  let spare = next.replicas + sum(old, (set) => set.replicas) - least - missing;
  const shrink = (i: number, by: number) => {
    sizes[i] = (sizes[i] ?? 0) - by;
    spare -= by;
  };
  for (const [i, set] of old.entries()) shrink(i, Math.max(0, Math.min(spare, set.replicas - lasting(set))));
  let dispensable = Math.min(spare, lasting(next) + sum(old, lasting) - least);
  for (const i of old.keys()) {
    const by = Math.max(0, Math.min(dispensable, sizes[i] ?? 0));
    shrink(i, by);
    dispensable -= by;
  }
  return sizes;
}

/**
 * The sizes of sets in the middle of a rollout when the Deployment itself has been scaled: each grows or shrinks in proportion,
 * and the largest takes what rounding leaves. So a bad rollout does not take over by being scaled.
 */
export function proportionalSizes(deployment: Deployment, sets: readonly ReplicaSet[]): Map<ReplicaSet, number> {
  const { replicas, surge } = boundsOf(deployment);
  const allowed = replicas > 0 ? replicas + surge : 0;
  const toAdd = allowed - sum(sets, ({ spec }) => spec.replicas);
  const ordered = sets.toSorted(
    (a, b) => b.spec.replicas - a.spec.replicas || (toAdd > 0 ? byCreation(b, a) : byCreation(a, b)),
  );
  const sizes = new Map(ordered.map((rs) => [rs, rs.spec.replicas]));
  if (toAdd === 0) return sizes;
  let added = 0;
  for (const rs of ordered) {
    const share = shareOf(rs, deployment, toAdd - added);
    sizes.set(rs, rs.spec.replicas + share);
    added += share;
  }
  const [largest] = ordered;
  if (largest) sizes.set(largest, Math.max(0, (sizes.get(largest) ?? 0) + toAdd - added));
  return sizes;
}

function shareOf(rs: ReplicaSet, deployment: Deployment, left: number): number {
  if (rs.spec.replicas === 0 || left === 0) return 0;
  const share = fraction(rs, deployment);
  return left > 0 ? Math.min(share, left) : Math.max(share, left);
}

function fraction(rs: ReplicaSet, deployment: Deployment): number {
  const { replicas, surge } = boundsOf(deployment);
  if (replicas === 0) return -rs.spec.replicas;
  const before = maxReplicasOf(rs) || (deployment.status.replicas ?? 0);
  if (before === 0) return 0;
  return Math.round((rs.spec.replicas * (replicas + surge)) / before) - rs.spec.replicas;
}

/** The oldest first. */
export const byCreation = ({ metadata: a }: ReplicaSet, { metadata: b }: ReplicaSet): number => {
  const [one, other] = [a.creationTimestamp ?? "", b.creationTimestamp ?? ""];
  if (one !== other) return one < other ? -1 : 1;
  return (a.name ?? "") < (b.name ?? "") ? -1 : 1;
};
