// Why a pod is as it is: one rule for each way in which a pod can be stuck, asked in the order in which a pod gets stuck.
import type { ContainerStatus } from "#api/core/v1/container-status.ts";
import type { Event } from "#api/core/v1/event.ts";
import type { Node } from "#api/core/v1/node.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { Pod } from "#api/core/v1/pod.ts";

/** All that is known about a pod's situation. */
export interface PodFacts {
  readonly pod: Pod;
  /** About the pod, oldest first. */
  readonly events: readonly Event[];
  /** The node it is bound to, if that exists. */
  readonly node: Node | undefined;
  /** The claims it mounts: undefined for one that does not exist. */
  readonly claims: ReadonlyMap<string, PersistentVolumeClaim | undefined>;
  /** What each plugin of the scheduler said of each node at the last attempt, where that is known. */
  readonly verdicts: readonly Verdict[];
  /** In milliseconds since 1970. */
  readonly now: number;
}

export interface Verdict {
  readonly node: string;
  readonly plugin: string;
  readonly reason: string;
}

export interface Reason {
  /** A sentence that goes on from "Pod default/web". */
  readonly says: string;
  readonly details?: readonly string[];
  /** What a person can do about it. */
  readonly remedies?: readonly string[];
  /** Whether there is nothing to worry about. */
  readonly isFine?: true;
}

type Rule = (facts: PodFacts) => Reason | undefined;

/** The first rule that knows the pod's situation decides. */
export function reasonFor(facts: PodFacts): Reason {
  for (const rule of rules) {
    const reason = rule(facts);
    if (reason) return reason;
  }
  return { says: `is ${facts.pod.status.phase ?? "Unknown"}, and nothing says why` };
}

const terminating: Rule = ({ pod, node, now }) => {
  const { deletionTimestamp, finalizers = [], deletionGracePeriodSeconds = 0 } = pod.metadata;
  if (deletionTimestamp === undefined) return undefined;
  const lateMs = now - Date.parse(deletionTimestamp);
  if (pod.spec.nodeName && !isReady(node))
    return {
      says: `is being deleted, but its node ${pod.spec.nodeName} does not answer`,
      details: [nodeState(node, pod.spec.nodeName)],
      remedies: [
        "bring the node back, or, if it is gone for good, delete the node object",
        `only if its containers cannot run any more: kubectl delete pod ${pod.metadata.name} --force --grace-period=0`,
      ],
    };
  if (finalizers.length > 0 && (lateMs > 0 || !pod.spec.nodeName))
    return {
      says: `is deleted, and waits for whoever put these finalizers on it: ${finalizers.join(", ")}`,
      remedies: ["look whether that controller runs; take a finalizer off only if it never will again"],
    };
  return {
    says:
      lateMs < 0
        ? `is being deleted: its containers have ${Math.ceil(-lateMs / 1000)} of ${deletionGracePeriodSeconds} s left to end`
        : "is being deleted: its grace is over, and the node is removing it",
  };
};

const gated: Rule = ({ pod }) => {
  const gates = pod.spec.schedulingGates ?? [];
  if (gates.length === 0 || pod.spec.nodeName) return undefined;
  return {
    says: `is not to be scheduled yet: it has scheduling gates ${gates.map(({ name }) => name).join(", ")}`,
    remedies: ["whoever set the gates has to remove them"],
  };
};

const unschedulable: Rule = ({ pod, claims, verdicts }) => {
  if (pod.spec.nodeName || pod.status.phase !== "Pending") return undefined;
  const scheduled = conditionOf(pod, "PodScheduled");
  if (scheduled?.status !== "False")
    return {
      says: "has not been looked at by a scheduler",
      details: [`it asks for the scheduler ${JSON.stringify(pod.spec.schedulerName)}`],
      remedies: ["look whether a scheduler of that name runs, and is not far behind"],
    };
  const missing = [...claims].filter(([, claim]) => claim === undefined).map(([name]) => name);
  return {
    says: "waits for a node that can take it; none can at present",
    details: [
      scheduled.message ?? "",
      ...verdictLines(verdicts),
      ...(pod.status.nominatedNodeName ? [`room is being made for it on ${pod.status.nominatedNodeName}`] : []),
    ].filter((line) => line !== ""),
    remedies: remediesFor(scheduled.message ?? "", missing),
  };
};

/** The nodes of one verdict together: five nodes without room are one line. */
function verdictLines(verdicts: readonly Verdict[]): readonly string[] {
  const alike = Map.groupBy(verdicts, ({ plugin, reason }) => `${plugin}: ${reason}`);
  return [...alike].map(([text, all]) => {
    const names = all.map(({ node }) => node);
    const shown = names.slice(0, 5).join(", ");
    return `${shown}${names.length > 5 ? ` and ${names.length - 5} more` : ""}: ${text}`;
  });
}

const cures: readonly (readonly [RegExp, string])[] = [
  [/Insufficient ([\w./-]+)/, "ask for less of $1, free some, or add nodes that have more"],
  [/Too many pods/, "add nodes, or delete pods"],
  [/untolerated taint \{([^:}]+)/, "tolerate the taint $1 in the pod, or take it from a node"],
  [/didn't match Pod's node affinity\/selector/, "label a node as nodeSelector or affinity ask for, or ask for less"],
  [/were unschedulable/, "kubectl uncordon the nodes that should take pods again"],
  [/didn't match pod anti-affinity rules/, "add nodes, or make the anti-affinity preferred instead of required"],
  [/didn't match pod affinity rules/, "see that the pods it wants to be near run, or make the affinity preferred"],
  [/didn't match pod topology spread constraints/, "add nodes in the emptier domains, or allow a larger maxSkew"],
  [/didn't have free ports/, "use another hostPort, or none"],
  [/unbound immediate PersistentVolumeClaims/, "see why the claim is not bound: kubectl describe pvc"],
  [/no nodes available|^0\/0 nodes/, "the cluster has no nodes yet: add one"],
];

function remediesFor(message: string, missingClaims: readonly string[]): readonly string[] {
  const found = cures.flatMap(([pattern, cure]) => {
    const match = pattern.exec(message);
    return match ? [cure.replace("$1", match[1] ?? "")] : [];
  });
  return [...missingClaims.map((name) => `create the PersistentVolumeClaim ${name} it mounts`), ...found];
}

const nodeLost: Rule = ({ pod, node }) => {
  const name = pod.spec.nodeName;
  if (!name || isOver(pod) || isReady(node)) return undefined;
  return {
    says: `is on node ${name}, which does not answer`,
    details: [nodeState(node, name)],
    remedies: [
      "bring the node back; pods that a controller owns are replaced on other nodes after their toleration, 5 minutes unless told",
    ],
  };
};

const failed: Rule = ({ pod }) => {
  if (pod.status.phase !== "Failed") return undefined;
  const ended = containersOf(pod).find(({ state }) => state?.terminated && state.terminated.exitCode !== 0);
  return {
    says: `has failed${pod.status.reason ? `: ${pod.status.reason}` : ""}`,
    details: [
      ...(pod.status.message ? [pod.status.message] : []),
      ...(ended ? [`container ${ended.name} ${exitText(ended.state?.terminated)}`] : []),
    ],
    remedies: ended ? [`kubectl logs ${pod.metadata.name} -c ${ended.name}`] : [],
  };
};

const succeeded: Rule = ({ pod }) =>
  pod.status.phase === "Succeeded"
    ? { says: "has done its work: all its containers ended well", isFine: true }
    : undefined;

/** By the reason for which a container waits: what it means, and what helps. */
const waits: Readonly<Record<string, { readonly says: string; readonly remedies: readonly string[] }>> = {
  ImagePullBackOff: imageTrouble(),
  ErrImagePull: imageTrouble(),
  InvalidImageName: { says: "has an image whose name cannot be read", remedies: ["correct the image's name"] },
  ErrImageNeverPull: {
    says: "has an image that is not on the node, and may not be pulled",
    remedies: ["load the image, or let imagePullPolicy be IfNotPresent"],
  },
  CreateContainerConfigError: {
    says: "cannot be made: something it refers to is missing",
    remedies: ["create the ConfigMap, Secret or key that the message names"],
  },
  CreateContainerError: { says: "cannot be made by the container runtime", remedies: [] },
  RunContainerError: { says: "cannot be started", remedies: ["see that the command exists in the image"] },
};

function imageTrouble() {
  return {
    says: "has an image that cannot be pulled",
    remedies: ["see that name and tag exist, that the registry can be reached, and that imagePullSecrets fit it"],
  };
}

const stuckContainer: Rule = ({ pod, events }) => {
  for (const container of containersOf(pod)) {
    const waiting = container.state?.waiting;
    if (!waiting) continue;
    if (waiting.reason === "CrashLoopBackOff") return crashLoop(pod, container);
    const known = waits[waiting.reason ?? ""];
    if (known)
      return {
        says: `waits: its container ${container.name} ${known.says}`,
        details: [`image ${container.image}`, ...(waiting.message ? [waiting.message] : [])],
        remedies: known.remedies,
      };
  }
  const trouble = events.findLast(({ reason, type }) => type === "Warning" && /^Failed/.test(reason ?? ""));
  if (pod.status.phase === "Pending" && trouble)
    return { says: "cannot be started", details: [`${trouble.reason}: ${trouble.message}`] };
  return undefined;
};

const times = (count: number): string => (count === 1 ? "once" : `${count} times`);

function crashLoop(pod: Pod, { name, restartCount, lastState, state }: ContainerStatus): Reason {
  const last = lastState?.terminated;
  const isOutOfMemory = last?.reason === "OOMKilled";
  return {
    says: `keeps failing: its container ${name} ${exitText(last)}, and was restarted ${times(restartCount)}`,
    details: [state?.waiting?.message ?? "", last?.message ?? ""].filter((text) => text !== ""),
    remedies: isOutOfMemory
      ? ["give it a higher memory limit, or find out what it uses the memory for"]
      : [`read what it said before it ended: kubectl logs ${pod.metadata.name} -c ${name} --previous`],
  };
}

const starting: Rule = ({ pod }) =>
  pod.status.phase === "Pending"
    ? { says: `is being started on ${pod.spec.nodeName}`, details: waitingLines(pod) }
    : undefined;

const notReady: Rule = ({ pod, events }) => {
  const ready = conditionOf(pod, "Ready");
  if (ready?.status === "True") return undefined;
  const probe = events.findLast(({ reason }) => reason === "Unhealthy");
  const gates = (pod.spec.readinessGates ?? []).filter(
    ({ conditionType }) => conditionOf(pod, conditionType)?.status !== "True",
  );
  return {
    says: "runs, but is not ready, so no service sends it traffic",
    details: [
      ...(ready?.message ? [ready.message] : []),
      ...(probe?.message ? [probe.message] : []),
      ...gates.map(({ conditionType }) => `readiness gate ${conditionType} is not True`),
      ...waitingLines(pod),
    ],
    remedies: [
      ...(probe ? ["see what the probe asks for, and whether the program answers in time"] : []),
      ...(gates.length > 0 ? ["whoever set the readiness gates has to set their conditions"] : []),
    ],
  };
};

const fine: Rule = ({ pod }) => ({ says: `runs on ${pod.spec.nodeName}, and is ready`, isFine: true });

const rules: readonly Rule[] = [
  terminating,
  gated,
  unschedulable,
  succeeded,
  failed,
  nodeLost,
  stuckContainer,
  starting,
  notReady,
  fine,
];

const isOver = ({ status }: Pod): boolean => status.phase === "Succeeded" || status.phase === "Failed";
const conditionOf = ({ status }: Pod, type: string) => status.conditions?.find((one) => one.type === type);
const readyCondition = (node: Node) => node.status.conditions?.find(({ type }) => type === "Ready");
const isReady = (node: Node | undefined): boolean => node !== undefined && readyCondition(node)?.status === "True";

const nodeState = (node: Node | undefined, name: string): string =>
  node
    ? `node ${name}: ${readyCondition(node)?.message ?? "its kubelet has not reported yet"}`
    : `there is no node ${name} any more`;

const containersOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
];

const waitingLines = (pod: Pod): readonly string[] =>
  containersOf(pod).flatMap(({ name, state }) =>
    state?.waiting?.reason ? [`container ${name} waits: ${state.waiting.reason}`] : [],
  );

type Terminated = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;
const exitText = (ended: Terminated | undefined): string =>
  !ended
    ? "ended"
    : ended.reason === "OOMKilled"
      ? "was killed because it used more memory than it may"
      : `ended with exit code ${ended.exitCode}`;
