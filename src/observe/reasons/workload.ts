// Why something that makes pods is not complete: it comes down to its pods, or to why they cannot be made.

import type { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import type { Deployment } from "#api/apps/v1/deployment.ts";
import type { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import type { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import type { Event } from "#api/core/v1/event.ts";
import type { ReplicationController } from "#api/core/v1/replication-controller.ts";
import { conditionIn } from "#rules/conditions.ts";
import { hasEnded } from "#rules/pods.ts";
import { podReason } from "./pod.ts";
import type { PodFacts } from "./pod-facts.ts";
import {
  type ConditionWords,
  conditionEvidence,
  counted,
  type Evidence,
  eventEvidence,
  lastEvent,
  type Part,
  partsOf,
  type Reason,
  sinceOf,
} from "./reason.ts";

export interface WorkloadFacts<O> {
  readonly owner: O;
  /** The pods it controls, itself or through ReplicaSets. */
  readonly pods: readonly PodFacts[];
  /** The ReplicaSets it controls. */
  readonly sets: readonly ReplicaSet[];
  /** About it and its ReplicaSets, oldest first. */
  readonly events: readonly Event[];
  readonly now: number;
}

interface WithConditions {
  readonly status: { readonly conditions?: readonly ConditionWords[] | undefined };
}

interface Wish {
  readonly desired: number;
  readonly ready: number;
  /** What it says when all is well. */
  readonly fine: string;
  /** The progress of a workload without troubled pods; undefined if it is complete. */
  readonly underway: string | undefined;
  readonly evidence?: readonly Evidence[];
}

/** Refusals first, then pods in trouble, then what is merely not done yet. */
function sumUp(facts: WorkloadFacts<WithConditions>, wish: Wish): Reason {
  const { desired, ready, fine, underway } = wish;
  const parts = podParts(facts.pods, desired);
  const shared = { parts, ...(wish.evidence && { evidence: wish.evidence }) };
  const present = facts.pods.filter(({ pod }) => !hasEnded(pod) && pod.metadata.deletionTimestamp === undefined).length;
  const refusal = present < desired ? refusalOf(facts) : undefined;
  if (refusal)
    return {
      ...shared,
      ...refusal,
      evidence: [...refusal.evidence, ...(wish.evidence ?? [])],
      says: `cannot make ${desired - present} of its ${counted(desired, "pod")}: the API server refuses them`,
    };
  const [worst] = parts;
  if (worst?.reason.state === "wrong")
    return {
      ...shared,
      code: worst.reason.code,
      state: "wrong",
      says: `is not complete: ${ready} of ${desired} pods ${ready === 1 ? "is" : "are"} ready`,
      ...sinceOf(worst.reason.since),
      remedies: worst.reason.remedies ?? [],
    };
  if (underway === undefined) return { ...shared, code: "Complete", state: "fine", says: fine };
  return { ...shared, code: "Progressing", state: "underway", says: underway };
}

/** Pods that only end are of no concern to their owner. */
export const podParts = (pods: readonly PodFacts[], of: number): readonly Part[] =>
  partsOf(
    pods
      .map((facts) => ({ name: facts.pod.metadata.name, reason: podReason(facts) }))
      .filter(({ reason }) => reason.code !== "Terminating"),
    Math.max(of, pods.length),
  );

interface Refusal extends Pick<Reason, "code" | "state" | "since" | "remedies"> {
  readonly evidence: readonly Evidence[];
}

/** Why pods are refused before they exist: a quota, an admission plugin, a missing service account. */
function refusalOf({
  owner,
  sets,
  events,
}: Pick<WorkloadFacts<WithConditions>, "owner" | "sets" | "events">): Refusal | undefined {
  const condition = [owner, ...sets]
    .map(({ status }) => conditionIn<ConditionWords>(status.conditions, "ReplicaFailure"))
    .find((one) => one?.status === "True");
  const told = refusedLast(events);
  const message = condition?.message ?? told?.message;
  if (message === undefined) return undefined;
  return {
    code: "FailedCreate",
    state: "wrong",
    ...sinceOf(condition?.lastTransitionTime ?? told?.firstTimestamp),
    evidence: [...conditionEvidence(condition), ...eventEvidence(told)],
    remedies: refusalRemedies(message),
  };
}

/** The refusal of a pod, unless one was made since. */
export function refusedLast(events: readonly Event[]): Event | undefined {
  const last = lastEvent(events, ["FailedCreate", "SuccessfulCreate"]);
  return last?.reason === "FailedCreate" ? last : undefined;
}

export function refusalRemedies(message: string): readonly string[] {
  const [, quota] = /exceeded quota: ([^,\s]+)/.exec(message) ?? [];
  if (quota) return [`raise the quota, or free some of it: kubectl describe resourcequota ${quota}`];
  const [, unmet] = /failed quota: ([^:\s]+)/.exec(message) ?? [];
  if (unmet) return [`set the requests and limits that the quota ${unmet} asks for, or give defaults by a LimitRange`];
  const [, account] =
    /serviceaccount "([^"]+)" not found|service account \S+?\/(\S+) was not found/.exec(message) ?? [];
  if (account) return [`create the service account ${account}`];
  if (/violates PodSecurity/.test(message))
    return ["correct the securityContext of the template, or let the namespace be less strict"];
  if (/admission webhook/.test(message)) return ["see why the admission webhook refuses it, or does not answer"];
  if (/LimitRange|(maximum|minimum) (cpu|memory) usage/.test(message))
    return ["ask for what the LimitRange of the namespace allows"];
  return ["correct what the message names"];
}

/** Whether the controller has yet to look at the newest spec. */
function unseen({ metadata, status }: PodSummary, controller: string): Reason | undefined {
  if ((status.observedGeneration ?? 0) >= (metadata.generation ?? 0)) return undefined;
  return {
    code: "NotObserved",
    state: "underway",
    says: `was changed, and the ${controller} controller has not looked at it since`,
    evidence: [
      {
        from: "status.observedGeneration",
        says: `${status.observedGeneration ?? 0}, while metadata.generation is ${metadata.generation}`,
      },
    ],
    remedies: ["if this lasts, see whether the controller manager runs: knarr status"],
  };
}
interface PodSummary {
  readonly metadata: { readonly generation?: number | undefined };
  readonly status: { readonly observedGeneration?: number | undefined };
}

export function deploymentReason(facts: WorkloadFacts<Deployment>): Reason {
  const { owner } = facts;
  const { spec, status } = owner;
  const { replicas: total = 0, updatedReplicas = 0, availableReplicas = 0, readyReplicas = 0 } = status;
  const progressing = conditionIn(status.conditions, "Progressing");
  const isComplete =
    updatedReplicas === spec.replicas && total === spec.replicas && availableReplicas === spec.replicas;
  const isLate = progressing?.status === "False";
  const old = total - updatedReplicas;
  const reason =
    unseen(owner, "deployment") ??
    sumUp(facts, {
      desired: spec.replicas,
      ready: readyReplicas,
      fine:
        spec.replicas === 0
          ? "is scaled to 0, and has no pods"
          : `is complete: ${all(spec.replicas)} up to date and ready`,
      underway: isComplete
        ? undefined
        : `is rolling out: ${updatedReplicas} of ${spec.replicas} pods are new, ${availableReplicas} available${old > 0 ? `, ${counted(old, "old one")} left` : ""}`,
      ...(isLate && { evidence: conditionEvidence(progressing) }),
    });
  if (!spec.paused || isComplete) return reason;
  return {
    ...reason,
    code: "Paused",
    state: "wrong",
    says: `is paused, and not complete: ${updatedReplicas} of ${spec.replicas} pods are new`,
    remedies: [`kubectl rollout resume deployment ${owner.metadata.name}`],
  };
}

const all = (count: number): string => (count === 1 ? "its pod is" : `all ${count} pods are`);

export function replicaSetReason(facts: WorkloadFacts<ReplicaSet | ReplicationController>): Reason {
  const { owner } = facts;
  const desired = owner.spec.replicas ?? 1;
  const { replicas, readyReplicas = 0 } = owner.status;
  return (
    unseen(owner, "replicaset") ??
    sumUp(facts, {
      desired,
      ready: readyReplicas,
      fine: desired === 0 ? "is scaled to 0, and has no pods" : `is complete: ${all(desired)} ready`,
      underway:
        replicas === desired && readyReplicas === desired
          ? undefined
          : `is on its way: ${readyReplicas} of ${desired} pods ${readyReplicas === 1 ? "is" : "are"} ready, ${replicas} there`,
    })
  );
}

export function statefulSetReason(facts: WorkloadFacts<StatefulSet>): Reason {
  const { owner, pods } = facts;
  const { spec, status } = owner;
  const { replicas, podManagementPolicy } = spec;
  const { readyReplicas = 0, updatedReplicas = 0, currentRevision, updateRevision } = status;
  const isUpdating = updateRevision !== undefined && currentRevision !== updateRevision && updatedReplicas < replicas;
  const blocking =
    podManagementPolicy === "OrderedReady" && pods.length < replicas
      ? pods.map(podReasonOf).find(({ reason }) => reason.state !== "fine")
      : undefined;
  const reason =
    unseen(owner, "statefulset") ??
    sumUp(facts, {
      desired: replicas,
      ready: readyReplicas,
      fine: replicas === 0 ? "is scaled to 0, and has no pods" : `is complete: ${all(replicas)} up to date and ready`,
      underway:
        readyReplicas === replicas && !isUpdating
          ? undefined
          : `is on its way: ${readyReplicas} of ${replicas} pods ${readyReplicas === 1 ? "is" : "are"} ready${isUpdating ? `, ${updatedReplicas} of the new revision` : ""}`,
      ...(blocking && {
        evidence: [
          {
            from: "spec.podManagementPolicy",
            says: `OrderedReady: the next pod is only made when ${blocking.name} is ready`,
          },
        ],
      }),
    });
  const isByHand = spec.updateStrategy.type === "OnDelete" && isUpdating && reason.state === "underway";
  return isByHand
    ? {
        ...reason,
        code: "UpdateOnDelete",
        state: "wrong",
        remedies: ["its updateStrategy is OnDelete: delete the old pods, one after the other"],
      }
    : reason;
}

const podReasonOf = (facts: PodFacts) => ({ name: facts.pod.metadata.name, reason: podReason(facts) });

export function daemonSetReason(facts: WorkloadFacts<DaemonSet>): Reason {
  const { owner } = facts;
  const { desiredNumberScheduled: desired, numberReady, updatedNumberScheduled = 0, numberMisscheduled } = owner.status;
  const isUpdated = updatedNumberScheduled === desired;
  const misscheduled: readonly Evidence[] =
    numberMisscheduled > 0
      ? [
          {
            from: "status.numberMisscheduled",
            says: `${counted(numberMisscheduled, "node")} still run it and should not`,
          },
        ]
      : [];
  return (
    unseen(owner, "daemonset") ??
    sumUp(facts, {
      desired,
      ready: numberReady,
      fine:
        desired === 0
          ? "is to run on no node at present: none matches its node selector and affinity"
          : `is complete: it runs on ${desired === 1 ? "the one node" : `all ${desired} nodes`} it should`,
      underway:
        numberReady === desired && isUpdated
          ? undefined
          : `is on its way: ready on ${numberReady} of ${counted(desired, "node")}${isUpdated ? "" : `, up to date on ${updatedNumberScheduled}`}`,
      ...(misscheduled.length > 0 && { evidence: misscheduled }),
    })
  );
}
