// Why a pod has no node.
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { type PodRule, type PodVerdict, podCondition } from "./pod-facts.ts";
import { conditionEvidence, type Evidence, eventEvidence, lastEvent, namesText, sinceOf } from "./reason.ts";
import { labelRemedy, noTrouble, type TaintTrouble, taintTrouble } from "./taints.ts";

export const gated: PodRule = ({ pod }) => {
  const gates = (pod.spec.schedulingGates ?? []).map(({ name }) => name);
  if (gates.length === 0 || pod.spec.nodeName) return undefined;
  return {
    code: "SchedulingGated",
    state: "wrong",
    alike: gates.join(),
    says: `is not to be scheduled yet: it has the scheduling ${gates.length === 1 ? "gate" : "gates"} ${gates.join(", ")}`,
    since: pod.metadata.creationTimestamp,
    evidence: conditionEvidence(podCondition(pod, "PodScheduled")),
    remedies: ["whoever set the gates has to remove them; see whether that controller runs"],
  };
};

export const unschedulable: PodRule = ({ pod, nodes, claims, verdicts, events, now }) => {
  if (pod.spec.nodeName || pod.status.phase !== "Pending") return undefined;
  const scheduled = podCondition(pod, "PodScheduled");
  if (scheduled?.status !== "False") return unseen(pod, now);
  const message = scheduled.message ?? "";
  const waiting = waitingClaims(claims, message);
  const taints = message.includes("untolerated taint") ? taintTrouble(pod, nodes) : noTrouble;
  const shared = {
    ...sinceOf(scheduled.lastTransitionTime),
    state: "wrong" as const,
    evidence: [
      ...conditionEvidence(scheduled),
      ...verdictEvidence(verdicts),
      ...taints.evidence,
      ...waiting.evidence,
      ...eventEvidence(lastEvent(events, ["FailedPreemption"])),
    ],
    remedies: [...waiting.remedies, ...taints.remedies, ...remediesFor(message, taints)],
  };
  if (waiting.names.length > 0)
    return {
      ...shared,
      code: "WaitsForClaim",
      alike: waiting.names.join(),
      says: `waits for ${waiting.names.length === 1 ? "its claim" : "its claims"} ${waiting.names.join(", ")}, and cannot be scheduled before`,
    };
  const { nominatedNodeName: room } = pod.status;
  if (room)
    return {
      ...shared,
      code: "WaitsForRoom",
      state: "underway",
      alike: room,
      says: `waits for room on ${room}, where pods of lower priority are being ended for it`,
      remedies: [],
    };
  return {
    ...shared,
    code: "Unschedulable",
    alike: message,
    says: "waits for a node that can take it; none can at present",
  };
};

const unseenAfterMs = 5000;

function unseen(pod: Parameters<PodRule>[0]["pod"], now: number): ReturnType<PodRule> {
  const { creationTimestamp } = pod.metadata;
  const isLate = now - Date.parse(creationTimestamp) > unseenAfterMs;
  return {
    code: "NotScheduledYet",
    state: isLate ? "wrong" : "underway",
    alike: pod.spec.schedulerName,
    says: "has not been looked at by a scheduler",
    since: creationTimestamp,
    evidence: [
      { from: "spec.schedulerName", says: `it asks for the scheduler ${JSON.stringify(pod.spec.schedulerName)}` },
    ],
    remedies: isLate ? ["look whether a scheduler of that name runs, and is not far behind"] : [],
  };
}

/**
 * The claims that are not bound. Those that do not exist keep the pod from being scheduled, and so do the others if the scheduler says
 * so; else they wait for this pod as their first consumer.
 */
function waitingClaims(claims: ReadonlyMap<string, PersistentVolumeClaim | undefined>, message: string) {
  const open = [...claims].filter(([, claim]) => claim?.status.phase !== "Bound");
  const isBlocked = message.includes("unbound immediate PersistentVolumeClaims");
  return {
    names: open.filter(([, claim]) => isBlocked || claim === undefined).map(([name]) => name),
    evidence: open.map(
      ([name, claim]): Evidence => ({
        from: `claim ${name}`,
        says: claim ? `is ${claim.status.phase ?? "Pending"}` : "does not exist",
      }),
    ),
    remedies: open.map(([name, claim]) =>
      claim
        ? `see what the claim waits for: knarr why pvc/${name}`
        : `create the PersistentVolumeClaim ${name} it mounts`,
    ),
  };
}

/** The nodes of one verdict together: five nodes without room are one line. */
function verdictEvidence(verdicts: readonly PodVerdict[]): readonly Evidence[] {
  const alike = Map.groupBy(verdicts, ({ plugin, reason }) => `${plugin}: ${reason}`);
  return [...alike].map(([says, all]) => ({ from: `scheduler on ${namesText(all.map(({ node }) => node))}`, says }));
}

const labelMismatch = /didn't match Pod's node affinity\/selector/g;
const cures: readonly (readonly [RegExp, string])[] = [
  [/Insufficient ([\w./-]*\w)/g, "ask for less $1, free some, or add nodes that have more"],
  [/Too many pods/g, "add nodes, or delete pods"],
  [labelMismatch, labelRemedy],
  [/were unschedulable/g, "kubectl uncordon the nodes that should take pods again"],
  [/didn't match pod anti-affinity rules/g, "add nodes, or make the anti-affinity preferred instead of required"],
  [/didn't match pod affinity rules/g, "see that the pods it wants to be near run, or make the affinity preferred"],
  [/didn't match pod topology spread constraints/g, "add nodes in the emptier domains, or allow a larger maxSkew"],
  [/didn't have free ports/g, "use another hostPort, or none"],
  [/volume node affinity conflict/g, "its volume can only be used on other nodes than the pod asks for"],
  [/exceed max volume count/g, "add nodes, or use fewer volumes on a node"],
  [/no nodes available|^0\/0 nodes/g, "the cluster has no nodes yet: add one"],
];

/** Where nodes that the pod asks for are tainted, labels are not what is missing. */
const remediesFor = (message: string, taints: TaintTrouble): readonly string[] => [
  ...new Set(
    cures
      .filter(([pattern]) => taints.remedies.length === 0 || pattern !== labelMismatch)
      .flatMap(([pattern, cure]) => [...message.matchAll(pattern)].map(([, what = ""]) => cure.replace("$1", what))),
  ),
];
