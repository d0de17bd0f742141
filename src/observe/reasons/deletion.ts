// Why something that was deleted is still there.

import type { Pod } from "#api/core/v1/pod.ts";
import { own } from "#base/collections.ts";
import { millisOf } from "#schema/time.ts";
import { isNodeReady, nodeEvidence } from "./node-state.ts";
import { type PodRule, podArgument, podCondition } from "./pod-facts.ts";
import { conditionEvidence, type Evidence, eventEvidence, lastEvent, type Reason } from "./reason.ts";

/** Who takes which finalizer off, and when. */
const removers: Readonly<Record<string, string>> = {
  "kubernetes.io/pvc-protection": "the PVC protection controller, once no pod uses the claim",
  "kubernetes.io/pv-protection": "the PV protection controller, once no claim is bound to the volume",
  foregroundDeletion: "the garbage collector, once all that it owns is gone",
  orphan: "the garbage collector, once all that it owns has another owner or none",
  "batch.kubernetes.io/job-tracking": "the Job controller, once it has counted how the pod ended",
  "service.kubernetes.io/load-balancer-cleanup": "the controller of load balancers, once the balancer is given back",
  "customresourcecleanup.apiextensions.k8s.io": "the API server, once all objects of the kind are gone",
  "external-provisioner.volume.kubernetes.io/finalizer": "the provisioner of the volume, once its storage is gone",
  "resource.kubernetes.io/delete-protection": "the resource claim controller, once no pod uses the claim",
  kubernetes: "the namespace controller, once the namespace is empty",
};

const domainOf = (finalizer: string): string | undefined =>
  finalizer.includes("/") ? finalizer.split("/")[0] : undefined;

function removerOf(finalizer: string): string {
  const domain = domainOf(finalizer);
  return own(removers, finalizer) ?? (domain ? `whoever runs ${domain}` : "whoever put it there");
}

function remedyFor(finalizer: string): string {
  const known = own(removers, finalizer)?.split(",")[0];
  return known
    ? `see whether ${known} runs, and what it says`
    : `find out who takes care of ${domainOf(finalizer) ?? "it"}, and whether that still works`;
}

export const finalizerEvidence = (finalizers: readonly string[]): readonly Evidence[] =>
  finalizers.map((name) => ({ from: `finalizer ${name}`, says: `is taken off by ${removerOf(name)}` }));

interface DeletionFacts {
  readonly kind: string;
  readonly metadata: {
    readonly name?: string | undefined;
    readonly namespace?: string | undefined;
    readonly deletionTimestamp?: string | undefined;
    readonly finalizers?: readonly string[] | undefined;
  };
}

/** For objects of any kind but pods, which have a node and a grace as well. */
export function deletionReason({ kind, metadata }: DeletionFacts, deletedBy: string | undefined): Reason | undefined {
  const { deletionTimestamp, finalizers = [], name, namespace } = metadata;
  if (deletionTimestamp === undefined) return undefined;
  if (finalizers.length === 0)
    return { code: "Terminating", state: "underway", says: "is being deleted", since: deletionTimestamp };
  const [first = ""] = finalizers;
  const target = `${kind.toLowerCase()} ${name}${namespace ? ` -n ${namespace}` : ""}`;
  return {
    code: "FinalizersRemain",
    state: "wrong",
    says: `is deleted, and waits for ${finalizers.length === 1 ? "its finalizer" : "its finalizers"} ${finalizers.join(", ")}`,
    since: deletionTimestamp,
    evidence: [...finalizerEvidence(finalizers), ...deleterEvidence(deletedBy)],
    remedies: [
      remedyFor(first),
      `only if it never will again: kubectl patch ${target} --type=merge -p '{"metadata":{"finalizers":null}}'`,
    ],
  };
}

const deleterEvidence = (deletedBy: string | undefined): readonly Evidence[] =>
  deletedBy === undefined ? [] : [{ from: "trace", says: `${deletedBy} asked for it` }];

/** By reason of the condition DisruptionTarget: who ends the pod, in words. */
const disrupters: Readonly<Record<string, string>> = {
  PreemptionByScheduler: "the scheduler, to make room for a pod of higher priority",
  DeletionByTaintManager: "the taint manager, since its node has a taint it does not tolerate",
  EvictionByEvictionAPI: "someone who drains its node or evicts it",
  DeletionByPodGC: "the pod garbage collector, since its node is gone",
  TerminationByKubelet: "the kubelet of its node, which is short of something or shuts down",
};

/** Who ended the pod, if that was not its owner: in words, with the condition that says so. */
export function disruptionOf(pod: Pod): { readonly by: string; readonly evidence: readonly Evidence[] } | undefined {
  const target = podCondition(pod, "DisruptionTarget");
  if (target?.status !== "True") return undefined;
  const by = own(disrupters, target.reason ?? "") ?? target.reason ?? "someone";
  return { by, evidence: conditionEvidence(target) };
}

/** A pod that is being deleted and has not ended yet. */
export const terminating: PodRule = ({ pod, node, now, deletedBy, events }) => {
  const { deletionTimestamp, finalizers = [], deletionGracePeriodSeconds = 0 } = pod.metadata;
  if (deletionTimestamp === undefined) return undefined;
  // The deletionTimestamp of a pod is when its grace ends.
  const endsAt = millisOf(deletionTimestamp);
  const disruption = disruptionOf(pod);
  const shared = {
    since: new Date(endsAt - deletionGracePeriodSeconds * 1000).toISOString().replace(/\.\d+Z$/, "Z"),
    evidence: [
      ...(disruption?.evidence ?? []),
      ...eventEvidence(lastEvent(events, ["Preempted", "TaintManagerEviction", "Evicted"])),
      ...deleterEvidence(deletedBy),
    ],
  };
  const by = disruption ? ` by ${disruption.by}` : "";
  if (pod.spec.nodeName && !isNodeReady(node))
    return {
      ...shared,
      code: "TerminatingOnLostNode",
      state: "wrong",
      alike: pod.spec.nodeName,
      says: `is being deleted${by}, but its node ${pod.spec.nodeName} ${node === "gone" ? "is gone" : "does not answer"}, and only the node can say that its containers have ended`,
      evidence: [...nodeEvidence(node, pod.spec.nodeName), ...shared.evidence],
      remedies: [
        "bring the node back, or, if it is gone for good, delete the node object",
        `only if its containers cannot run any more: kubectl delete pod ${podArgument(pod)} --force --grace-period=0`,
      ],
    };
  if (finalizers.length > 0 && (now >= endsAt || !pod.spec.nodeName)) return deletionReason(pod, deletedBy);
  if (now < endsAt)
    return {
      ...shared,
      code: "Terminating",
      state: "underway",
      says: `is being deleted${by}: its containers have ${Math.ceil((endsAt - now) / 1000)} of ${deletionGracePeriodSeconds} s left to end`,
    };
  const isLate = now - endsAt > 30_000;
  return {
    ...shared,
    code: isLate ? "TerminatingLate" : "Terminating",
    state: isLate ? "wrong" : "underway",
    says: `is being deleted${by}: its grace is over, and the node is removing it`,
    remedies: isLate
      ? [`see what the kubelet of ${pod.spec.nodeName} says: it may wait for its container runtime, or for a volume`]
      : [],
  };
};
