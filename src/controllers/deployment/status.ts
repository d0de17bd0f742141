// What a Deployment reports about its rollout. Pure functions of its ReplicaSets and of what it reported before.
// Upstream: pkg/controller/deployment/progress.go and pkg/controller/deployment/sync.go.
import type { Deployment, DeploymentCondition, DeploymentStatus } from "#api/apps/v1/deployment.ts";
import type { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { millisOf, timeOf } from "#schema/time.ts";
import { unlessZero } from "../replicas.ts";
import { boundsOf } from "./sizes.ts";

type Conditions = readonly DeploymentCondition[];
type Verdict = readonly [status: "True" | "False" | "Unknown", reason: string, message: string];

const noDeadline = 2 ** 31 - 1;

export const hasDeadline = ({ spec }: Deployment): boolean => spec.progressDeadlineSeconds !== noDeadline;

export const conditionOf = ({ conditions }: DeploymentStatus, type: string): DeploymentCondition | undefined =>
  conditions?.find((condition) => condition.type === type);

/** The status with a condition that holds as of now. One that says the same already stays as it is. */
export function withCondition(
  status: DeploymentStatus,
  type: string,
  [value, reason, message]: Verdict,
  now: number,
): DeploymentStatus {
  const at = timeOf(now);
  const current = conditionOf(status, type);
  if (current?.status === value && current.reason === reason) return status;
  const since = current?.status === value ? current.lastTransitionTime : at;
  return set(status, { type, status: value, reason, message, lastUpdateTime: at, lastTransitionTime: since });
}

const set = (status: DeploymentStatus, condition: DeploymentCondition): DeploymentStatus => ({
  ...status,
  conditions: [...others(status, condition.type), condition],
});
const others = ({ conditions = [] }: DeploymentStatus, type: string): Conditions =>
  conditions.filter((condition) => condition.type !== type);

function without(status: DeploymentStatus, type: string): DeploymentStatus {
  const { conditions: _all, ...rest } = status;
  const left = others(status, type);
  return left.length > 0 ? { ...rest, conditions: left } : rest;
}

/** A pause stops the progress deadline, and resuming starts it again. */
export function withPause(deployment: Deployment, status: DeploymentStatus, now: number): DeploymentStatus {
  const reason = conditionOf(status, "Progressing")?.reason;
  if (!hasDeadline(deployment) || reason === "ProgressDeadlineExceeded") return status;
  const isPaused = deployment.spec.paused === true;
  if (isPaused && reason !== "DeploymentPaused")
    return withCondition(status, "Progressing", ["Unknown", "DeploymentPaused", "Deployment is paused"], now);
  if (!isPaused && reason === "DeploymentPaused")
    return withCondition(status, "Progressing", ["Unknown", "DeploymentResumed", "Deployment is resumed"], now);
  return status;
}

const total = (sets: readonly ReplicaSet[], of: (rs: ReplicaSet) => number | undefined): number =>
  sets.reduce((sum, rs) => sum + (of(rs) ?? 0), 0);

export interface Sets {
  /** The set of the present template. */
  readonly next: ReplicaSet | undefined;
  readonly all: readonly ReplicaSet[];
}

/** The counts, and whether enough pods are available. `status` is what is known so far. */
export function countedStatus(
  deployment: Deployment,
  status: DeploymentStatus,
  { next, all }: Sets,
  now: number,
): DeploymentStatus {
  const { replicas, unavailable } = boundsOf(deployment);
  const available = total(all, (rs) => rs.status.availableReplicas);
  const { terminatingReplicas: _before, ...rest } = status;
  const terminating = terminatingIn(all);
  const counted: DeploymentStatus = {
    ...rest,
    observedGeneration: deployment.metadata.generation,
    replicas: unlessZero(total(all, (rs) => rs.status.replicas)),
    updatedReplicas: unlessZero(next?.status.replicas ?? 0),
    readyReplicas: unlessZero(total(all, (rs) => rs.status.readyReplicas)),
    availableReplicas: unlessZero(available),
    unavailableReplicas: unlessZero(Math.max(0, total(all, (rs) => rs.spec.replicas) - available)),
    ...(terminating !== undefined && { terminatingReplicas: terminating }),
  };
  const verdict: Verdict =
    available >= replicas - unavailable
      ? ["True", "MinimumReplicasAvailable", "Deployment has minimum availability."]
      : ["False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."];
  return withCondition(counted, "Available", verdict, now);
}

/** Undefined as long as one of the sets does not report it. A set that was not reconciled yet counts as 0. */
function terminatingIn(sets: readonly ReplicaSet[]): number | undefined {
  const seen = sets.filter(({ status }) => status.observedGeneration || status.terminatingReplicas !== undefined);
  if (seen.some(({ status }) => status.terminatingReplicas === undefined)) return undefined;
  return total(seen, ({ status }) => status.terminatingReplicas);
}

/** The counts, and how the rollout is doing. */
export function rolloutStatus(
  deployment: Deployment,
  status: DeploymentStatus,
  sets: Sets,
  now: number,
): DeploymentStatus {
  const counted = countedStatus(deployment, status, sets, now);
  return withFailure(withProgress(deployment, counted, sets.next, now), sets);
}

function withProgress(
  deployment: Deployment,
  status: DeploymentStatus,
  next: ReplicaSet | undefined,
  now: number,
): DeploymentStatus {
  if (!hasDeadline(deployment)) return without(status, "Progressing");
  const current = conditionOf(status, "Progressing");
  const isDone =
    (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && current?.reason === "NewReplicaSetAvailable";
  if (isDone) return status;
  const subject = next ? `ReplicaSet "${next.metadata.name}"` : `Deployment "${deployment.metadata.name}"`;
  if (isComplete(deployment, status)) {
    const verdict: Verdict = ["True", "NewReplicaSetAvailable", `${subject} has successfully progressed.`];
    return withCondition(status, "Progressing", verdict, now);
  }
  if (isProgressing(deployment.status, status)) {
    const at = timeOf(now);
    return set(status, {
      type: "Progressing",
      status: "True",
      reason: "ReplicaSetUpdated",
      message: `${subject} is progressing.`,
      lastUpdateTime: at,
      lastTransitionTime: current?.status === "True" ? current.lastTransitionTime : at,
    });
  }
  if (!isTimedOut(deployment, status, now)) return status;
  const verdict: Verdict = ["False", "ProgressDeadlineExceeded", `${subject} has timed out progressing.`];
  return withCondition(status, "Progressing", verdict, now);
}

/** The ReplicaFailure condition of the new set, or else of an old one, is copied to the Deployment. */
function withFailure(status: DeploymentStatus, { next, all }: Sets): DeploymentStatus {
  const ofSet = (rs: ReplicaSet | undefined) => rs?.status.conditions?.find(({ type }) => type === "ReplicaFailure");
  const failure = ofSet(next) ?? all.map(ofSet).find((condition) => condition !== undefined);
  if (!failure) return without(status, "ReplicaFailure");
  const current = conditionOf(status, failure.type);
  if (current?.status === failure.status && current.reason === failure.reason) return status;
  const since = current?.status === failure.status ? current.lastTransitionTime : failure.lastTransitionTime;
  return set(status, { ...failure, lastUpdateTime: failure.lastTransitionTime, lastTransitionTime: since });
}

/** Every pod is of the present template and available, and no other is left. */
export function isComplete({ metadata, spec }: Deployment, status: DeploymentStatus): boolean {
  const { updatedReplicas = 0, replicas = 0, availableReplicas = 0, observedGeneration = 0 } = status;
  const isFull = [updatedReplicas, replicas, availableReplicas].every((count) => count === spec.replicas);
  return isFull && observedGeneration >= (metadata.generation ?? 0);
}

function isProgressing(before: DeploymentStatus, now: DeploymentStatus): boolean {
  const old = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus) => replicas - updatedReplicas;
  return (
    (now.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(now) < old(before) ||
    (now.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (now.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

function isTimedOut(deployment: Deployment, status: DeploymentStatus, now: number): boolean {
  const reason = conditionOf(status, "Progressing")?.reason;
  if (reason === "ProgressDeadlineExceeded") return true;
  const dueAt = deadlineOf(deployment, status);
  return reason !== "NewReplicaSetAvailable" && dueAt !== undefined && dueAt < now;
}

/** When the rollout counts as stuck unless something moves before. */
function deadlineOf({ spec }: Deployment, status: DeploymentStatus): number | undefined {
  const condition = conditionOf(status, "Progressing");
  if (!condition?.lastUpdateTime) return undefined;
  return millisOf(condition.lastUpdateTime) + spec.progressDeadlineSeconds * 1000;
}

/** In how many milliseconds to look whether the rollout is stuck, if that is still open. */
export function deadlineCheckMs(deployment: Deployment, status: DeploymentStatus, now: number): number | undefined {
  const dueAt = deadlineOf(deployment, status);
  if (!hasDeadline(deployment) || dueAt === undefined || isComplete(deployment, status)) return undefined;
  if (conditionOf(status, "Progressing")?.reason === "ProgressDeadlineExceeded") return undefined;
  return Math.max(0, dueAt - now) + 1000;
}
