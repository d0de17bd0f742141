// Why a node takes no pods.
import type { Lease } from "#api/coordination/v1/lease.ts";
import type { Event } from "#api/core/v1/event.ts";
import type { Node } from "#api/core/v1/node.ts";
import { readyCondition } from "./node-state.ts";
import { type ConditionWords, conditionEvidence, counted, type Evidence, type Reason, sinceOf } from "./reason.ts";
import { hardTaints, taintText } from "./taints.ts";

export interface NodeFacts {
  readonly node: Node;
  /** By which the kubelet says that it lives. */
  readonly lease: Lease | undefined;
  readonly events: readonly Event[];
  /** How many pods are bound to it. */
  readonly pods: number;
}

export function nodeReason(facts: NodeFacts): Reason {
  const { node, pods } = facts;
  const ready = readyCondition(node);
  const troubles = (node.status.conditions ?? []).filter(({ type, status }) => type !== "Ready" && status === "True");
  const evidence = [
    ...conditionEvidence(ready),
    ...troubles.flatMap(conditionEvidence),
    ...heartbeat(facts),
    ...taints(node),
  ];
  if (!ready)
    return {
      code: "NeverReady",
      state: "wrong",
      says: "was registered, but its kubelet has not reported how it is",
      ...sinceOf(node.metadata.creationTimestamp),
      evidence,
      remedies: ["see whether the kubelet runs there, and what it logs"],
    };
  if (ready.status !== "True")
    return {
      code: ready.status === "Unknown" ? "NodeSilent" : "NodeNotReady",
      state: "wrong",
      says:
        ready.status === "Unknown"
          ? `does not answer: its kubelet has stopped reporting, and ${counted(pods, "pod")} on it are unknown`
          : `is not ready: ${ready.message || ready.reason || "it does not say why"}; ${counted(pods, "pod")} are bound to it`,
      ...sinceOf(ready.lastTransitionTime),
      evidence,
      remedies:
        ready.status === "Unknown"
          ? ["see whether the machine is up, its kubelet runs, and it reaches the API server"]
          : notReadyRemedies(ready),
    };
  if (troubles.length > 0)
    return {
      code: troubles[0]?.type ?? "Pressure",
      state: "wrong",
      says: `is ready, but short of something: ${troubles.map(({ type }) => type).join(", ")}`,
      ...sinceOf(troubles[0]?.lastTransitionTime),
      evidence,
      remedies: ["free what it is short of; until then it takes fewer pods, and may evict some"],
    };
  if (node.spec.unschedulable)
    return {
      code: "Cordoned",
      state: "fine",
      says: `is ready, and cordoned: it takes no new pods, and keeps its ${counted(pods, "pod")}`,
      evidence,
      remedies: [`kubectl uncordon ${node.metadata.name}`],
    };
  const tainted = hardTaints(node);
  if (tainted.length > 0)
    return {
      code: "Tainted",
      state: "fine",
      says: `is ready, and has ${counted(pods, "pod")}, but takes only pods that tolerate ${tainted.map(taintText).join(", ")}`,
      ...sinceOf(ready.lastTransitionTime),
      evidence: [...heartbeat(facts), ...taints(node)],
      remedies: tainted.map((taint) => `kubectl taint nodes ${node.metadata.name} ${taintText(taint)}-`),
    };
  return {
    code: "Ready",
    state: "fine",
    says: `is ready, and has ${counted(pods, "pod")}`,
    ...sinceOf(ready.lastTransitionTime),
    evidence: heartbeat(facts),
  };
}

const notReadyRemedies = ({ message = "" }: ConditionWords): readonly string[] =>
  /network|cni/i.test(message)
    ? ["see that the network plugin of the node is set up and runs"]
    : /runtime|PLEG/i.test(message)
      ? ["see that the container runtime of the node runs and answers"]
      : ["see what the kubelet of the node logs"];

function heartbeat({ lease }: NodeFacts): readonly Evidence[] {
  const at = lease?.spec.renewTime;
  if (at === undefined) return [{ from: "lease", says: "there is none: its kubelet has never said that it lives" }];
  return [{ from: "lease", says: "last heartbeat", at }];
}

const taints = ({ spec }: Node): readonly Evidence[] =>
  (spec.taints ?? []).map(({ key, value, effect }) => ({
    from: `taint ${key}${value ? `=${value}` : ""}`,
    says: `${effect}: pods need a toleration`,
  }));
