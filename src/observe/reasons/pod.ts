// Why a pod is as it is: one rule for each way to be, asked in the order in which a pod gets stuck.
import { isSidecar } from "#api/core/v1/amounts.ts";
import { own } from "#base/collections.ts";
import { hasEnded } from "#rules/pods.ts";
import { millisOf } from "#schema/time.ts";
import { logEvidence, stuckContainer } from "./container.ts";
import { disruptionOf, terminating } from "./deletion.ts";
import { exitText } from "./exit.ts";
import { isNodeReady, nodeEvidence, readyCondition } from "./node-state.ts";
import { containersOf, type PodFacts, type PodRule, podArgument, podCondition } from "./pod-facts.ts";
import { notReady, restarted } from "./probes.ts";
import {
  conditionEvidence,
  containerEvidence,
  type Evidence,
  eventEvidence,
  lastEvent,
  type Reason,
  sinceOf,
} from "./reason.ts";
import { gated, unschedulable } from "./scheduling.ts";

/** The first rule that knows the pod's situation decides. */
export function podReason(facts: PodFacts): Reason {
  for (const rule of rules) {
    const reason = rule(facts);
    if (reason) return reason;
  }
  const { phase = "Unknown" } = facts.pod.status;
  return { code: "Unknown", state: "wrong", says: `is ${phase}, and nothing says why` };
}

const succeeded: PodRule = ({ pod }) =>
  pod.status.phase === "Succeeded"
    ? {
        code: "Succeeded",
        state: "fine",
        says: "has done its work: all its containers ended well",
        ...sinceOf(endedAt(pod)),
      }
    : undefined;

/** By the reason of a pod that failed as a whole: what it means. */
const failures: Readonly<Record<string, { readonly says: string; readonly remedies: readonly string[] }>> = {
  Evicted: {
    says: "was evicted by its node, which was short of something",
    remedies: ["set requests and limits that fit what it uses, or give the node more of it"],
  },
  Preempting: { says: "had to make room for a pod that its node cannot do without", remedies: [] },
  DeadlineExceeded: {
    says: "ran longer than its activeDeadlineSeconds allow",
    remedies: ["raise activeDeadlineSeconds, or find out what takes so long"],
  },
  NodeLost: { says: "was on a node that is gone", remedies: [] },
  NodeShutdown: { says: "was ended since its node was shut down", remedies: [] },
  Terminated: { says: "was ended since its node was shut down", remedies: [] },
  NodeAffinity: {
    says: "was refused by its node, whose labels it does not ask for any more",
    remedies: ["delete the pod, so that it is scheduled anew"],
  },
  UnexpectedAdmissionError: { says: "was refused by its node", remedies: [] },
};

const failed: PodRule = ({ pod, lastLines }) => {
  if (pod.status.phase !== "Failed") return undefined;
  const ended = containersOf(pod).find(({ state }) => state?.terminated && state.terminated.exitCode !== 0);
  const { reason = "", message } = pod.status;
  const explanation =
    own(failures, reason) ?? (/^OutOf/.test(reason) ? outOf(reason.slice("OutOf".length)) : undefined);
  const disruption = disruptionOf(pod);
  const how = explanation?.says ?? (disruption ? `was ended by ${disruption.by}` : undefined);
  const exit = ended ? `its container ${ended.name} ${exitText(ended.state?.terminated)}` : undefined;
  const lines = (ended && lastLines.get(ended.name)) ?? [];
  const last = ended?.state?.terminated;
  return {
    code: reason || "Failed",
    state: "wrong",
    alike: `${ended?.name} ${last?.exitCode}`,
    says: `has failed: ${[how, exit].filter(Boolean).join("; ") || reason || "nothing says why"}`,
    ...sinceOf(endedAt(pod)),
    evidence: [
      ...(reason || message ? [{ from: "status", says: [reason, message].filter(Boolean).join(": ") }] : []),
      ...(disruption?.evidence ?? []),
      ...(last?.message ? [{ from: `last words of ${ended?.name}`, says: last.message.trim() }] : []),
      ...logEvidence(ended?.name ?? "", lines),
    ],
    remedies: [
      ...(explanation?.remedies ?? []),
      ...(ended ? [`kubectl logs ${podArgument(pod)} -c ${ended.name}`] : []),
    ],
  };
};

const outOf = (what: string) => ({
  says: `was refused by its node, which had not enough ${what} left`,
  remedies: ["delete the pod, so that it is scheduled anew"],
});

const endedAt = (pod: PodFacts["pod"]): string | undefined =>
  containersOf(pod)
    .flatMap(({ state }) => state?.terminated?.finishedAt ?? [])
    .toSorted()
    .at(-1) ?? podCondition(pod, "Ready")?.lastTransitionTime;

const nodeLost: PodRule = ({ pod, node }) => {
  const name = pod.spec.nodeName;
  if (!name || hasEnded(pod) || isNodeReady(node)) return undefined;
  return {
    code: "NodeLost",
    state: "wrong",
    alike: name,
    says: `${pod.status.phase === "Pending" ? "is to start" : "is"} on node ${name}, which ${node === "gone" ? "does not exist any more" : "does not answer"}`,
    ...sinceOf(typeof node === "string" ? undefined : readyCondition(node)?.lastTransitionTime),
    evidence: nodeEvidence(node, name),
    remedies: [
      `see what is wrong with the node: knarr why node/${name}`,
      "pods that a controller owns are replaced on other nodes after their toleration is over, 5 minutes by default",
    ],
  };
};

/** Events of what has to be there before a container can be made. */
const obstacles: Readonly<Record<string, { readonly code: string; readonly says: string; readonly cure: string }>> = {
  FailedMount: {
    code: "FailedMount",
    says: "a volume of it cannot be mounted",
    cure: "create the ConfigMap, Secret, claim or path that the message names, or correct the volume",
  },
  FailedAttachVolume: {
    code: "FailedAttachVolume",
    says: "a volume of it cannot be attached to the node",
    cure: "see whether another node still has the volume",
  },
  FailedMapVolume: { code: "FailedMount", says: "a volume of it cannot be mapped", cure: "see the message" },
  FailedCreatePodSandBox: {
    code: "Sandbox",
    says: "its sandbox, which holds its network, cannot be made",
    cure: "see what the container runtime and the network plugin of the node say",
  },
  NetworkNotReady: {
    code: "NetworkNotReady",
    says: "the network of its node is not ready",
    cure: "see that the network plugin of the node runs",
  },
};

const obstructed: PodRule = ({ pod, events, now }) => {
  if (pod.status.phase !== "Pending") return undefined;
  const event = lastEvent(events, Object.keys(obstacles));
  const obstacle = own(obstacles, event?.reason ?? "");
  const progress = lastEvent(events, ["Created", "Started", "Pulled"]);
  if (!event || !obstacle || (progress && seenAt(progress) > seenAt(event))) return undefined;
  // The first try often comes before what it needs; that is no trouble if the next one succeeds.
  const isFresh = now - seenAt(event) < 2000 && (event.count ?? 1) === 1;
  return {
    code: obstacle.code,
    state: isFresh ? "underway" : "wrong",
    alike: event.message?.replaceAll(pod.metadata.name, "") ?? "",
    says: `cannot be started on ${pod.spec.nodeName}: ${obstacle.says}`,
    ...sinceOf(event.firstTimestamp ?? event.eventTime),
    evidence: eventEvidence(event),
    remedies: [obstacle.cure],
  };
};

const seenAt = ({ lastTimestamp, eventTime }: PodFacts["events"][number]): number => {
  const at = lastTimestamp ?? eventTime;
  return at === undefined ? 0 : millisOf(at);
};

/** Containers start when all init containers before them are done. */
const initializing: PodRule = ({ pod }) => {
  const inits = pod.spec.initContainers ?? [];
  const waitsFor = inits.find((spec) => {
    const status = pod.status.initContainerStatuses?.find(({ name }) => name === spec.name);
    return isSidecar(spec) ? status?.started !== true : status?.state?.terminated?.exitCode !== 0;
  });
  if (pod.status.phase !== "Pending" || !waitsFor) return undefined;
  const status = pod.status.initContainerStatuses?.find(({ name }) => name === waitsFor.name);
  if (!status?.state?.running) return undefined;
  return {
    code: "InitContainer",
    state: "underway",
    alike: waitsFor.name,
    says: `waits for its init container ${waitsFor.name} to ${isSidecar(waitsFor) ? "be started" : "end"} (${inits.indexOf(waitsFor) + 1} of ${inits.length})`,
    ...sinceOf(status.state.running.startedAt),
    evidence: [
      ...containerEvidence(waitsFor.name, "runs", status.state.running.startedAt),
      ...conditionEvidence(podCondition(pod, "Initialized")),
    ],
    remedies: [`see what it does: kubectl logs ${podArgument(pod)} -c ${waitsFor.name}`],
  };
};

/** What takes longer than this is worth a look, though nobody complained. */
const slowStartMs = 120_000;

const starting: PodRule = ({ pod, events, now }) => {
  if (pod.status.phase !== "Pending") return undefined;
  const { startTime } = pod.status;
  const scheduled = podCondition(pod, "PodScheduled")?.lastTransitionTime;
  const since = startTime ?? scheduled ?? pod.metadata.creationTimestamp;
  const isSlow = now - millisOf(since) > slowStartMs;
  return {
    code: startTime === undefined ? "NotAcknowledged" : "Starting",
    state: isSlow ? "wrong" : "underway",
    alike: pod.spec.nodeName ?? "",
    says:
      startTime === undefined
        ? `is bound to ${pod.spec.nodeName}, whose kubelet has not taken it up yet`
        : `is being started on ${pod.spec.nodeName}`,
    since,
    evidence: [...waitingEvidence(pod), ...eventEvidence(lastEvent(events, ["Pulling"]))],
    remedies: isSlow ? [`see what the kubelet says: knarr why node/${pod.spec.nodeName}`] : [],
  };
};

const waitingEvidence = (pod: PodFacts["pod"]): readonly Evidence[] =>
  containersOf(pod).flatMap(({ name, state }) => containerEvidence(name, state?.waiting?.reason));

const fine: PodRule = ({ pod }) => ({
  code: "Running",
  state: "fine",
  says: `runs on ${pod.spec.nodeName}, and is ready`,
  ...sinceOf(podCondition(pod, "Ready")?.lastTransitionTime),
});

const rules: readonly PodRule[] = [
  terminating,
  gated,
  unschedulable,
  succeeded,
  failed,
  nodeLost,
  stuckContainer,
  obstructed,
  initializing,
  starting,
  notReady,
  restarted,
  fine,
];
