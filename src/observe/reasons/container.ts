// Why a container of a pod does not run: its image, what it refers to, its command, or that it keeps ending.

import type { ContainerStateTerminated, ContainerStatus } from "#api/core/v1/container-status.ts";
import type { Event } from "#api/core/v1/event.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { own } from "#base/collections.ts";
import { parseDurationMs } from "#base/duration.ts";
import { backoffMs } from "#base/retry.ts";
import { millisOf, timeOf } from "#schema/time.ts";
import { exitText } from "./exit.ts";
import { containersOf, type PodFacts, type PodRule, podArgument } from "./pod-facts.ts";
import { failedProbes, outOfMemoryRemedy, probeKill } from "./probes.ts";
import {
  containerEvidence,
  type Evidence,
  eventEvidence,
  lastEvent,
  type Reason,
  sinceOf,
  spanTo,
  times,
  timesSeen,
} from "./reason.ts";

/** The first container that cannot go on decides: the ones after it wait for it, or have the same trouble. */
export const stuckContainer: PodRule = (facts) => {
  for (const container of containersOf(facts.pod)) {
    const reason = reasonOf(container, facts);
    if (reason) return reason;
  }
  return undefined;
};

function reasonOf(container: ContainerStatus, facts: PodFacts): Reason | undefined {
  const { waiting, terminated } = container.state ?? {};
  if (waiting?.reason === "CrashLoopBackOff") return crashLoop(container, facts);
  if (terminated && terminated.exitCode !== 0 && facts.pod.spec.restartPolicy !== "Never")
    return crashLoop(container, facts);
  const known = own(waits, waiting?.reason ?? "");
  return known && waiting ? stuck(container, waiting, known, facts) : undefined;
}

interface Wait {
  readonly code: string;
  /** Goes on from "waits: its container web". */
  readonly says: (container: ContainerStatus, message: string) => string;
  /** The reasons of the events that report it. */
  readonly events: readonly string[];
  readonly remedies: (pod: Pod, message: string) => readonly string[];
}

const imagePull: Wait = {
  code: "ImagePull",
  says: ({ image }) => `has an image that cannot be pulled: ${image}`,
  events: ["Failed"],
  remedies: (pod, message) => {
    if (/unauthorized|denied|authentication|forbidden/i.test(message))
      return [
        pod.spec.imagePullSecrets?.length
          ? `see that its imagePullSecrets (${pod.spec.imagePullSecrets.map(({ name }) => name).join(", ")}) exist and are right`
          : "give it imagePullSecrets for the registry, or see that the name is right: registries answer so for what does not exist, too",
      ];
    if (/not found|manifest unknown|does not exist/i.test(message)) return ["correct the image's name or tag"];
    if (/no such host|dial|timeout|refused|unreachable|lookup/i.test(message))
      return ["see that the node can reach the registry, and that the registry's name is right"];
    return ["see that name and tag exist, that the registry can be reached, and that imagePullSecrets fit it"];
  },
};

const never = (): readonly string[] => [];

/** What kubelets say of a container that has runAsNonRoot. */
const asRoot = /runAsNonRoot|breaks non-root policy/;

/** By the reason for which a container waits: what it means, and what helps. */
const waits: Readonly<Record<string, Wait>> = {
  ErrImagePull: imagePull,
  ImagePullBackOff: imagePull,
  InvalidImageName: {
    code: "InvalidImageName",
    says: ({ image }) => `has an image whose name cannot be read: ${JSON.stringify(image)}`,
    events: ["InspectFailed", "Failed"],
    remedies: () => ["correct the image's name: [HOST[:PORT]/]PATH[:TAG][@DIGEST], in lower case"],
  },
  ErrImageNeverPull: {
    code: "ErrImageNeverPull",
    says: ({ image }) => `has an image that is not on the node, and may not be pulled: ${image}`,
    events: ["ErrImageNeverPull", "Failed"],
    remedies: () => ["load the image into the node, or let imagePullPolicy be IfNotPresent"],
  },
  ImageInspectError: {
    code: "ImageInspectError",
    says: ({ image }) => `has an image that the container runtime cannot read: ${image}`,
    events: ["InspectFailed"],
    remedies: () => ["remove the image from the node, so that it is pulled again"],
  },
  CreateContainerConfigError: {
    code: "CreateContainerConfigError",
    says: (_, message) =>
      asRoot.test(message)
        ? "would run as root, which it must not"
        : "cannot be made, since something it refers to is missing",
    events: ["Failed"],
    remedies: (_, message) => [
      asRoot.test(message)
        ? "say whom it is to run as with securityContext.runAsUser, by a number that is not 0, or take an image that does"
        : missingInput(message),
    ],
  },
  CreateContainerError: {
    code: "CreateContainerError",
    says: () => "cannot be made by the container runtime",
    events: ["Failed"],
    remedies: (_, message) => commandRemedies(message),
  },
  RunContainerError: {
    code: "RunContainerError",
    says: () => "cannot be started",
    events: ["Failed"],
    remedies: (_, message) => commandRemedies(message),
  },
  PostStartHookError: {
    code: "PostStartHookError",
    says: () => "was stopped because its postStart hook failed",
    events: ["FailedPostStartHook"],
    remedies: () => ["correct the hook: what it says is in the event"],
  },
  ContainerStatusUnknown: {
    code: "ContainerStatusUnknown",
    says: () => "is unknown to the container runtime",
    events: [],
    remedies: never,
  },
};

/** `configmap "settings" not found`, `couldn't find key b in ConfigMap ns/settings`. */
function missingInput(message: string): string {
  const [, kind, name] = /\b(configmap|secret) "([^"]+)" not found/i.exec(message) ?? [];
  if (kind && name)
    return `create the ${kind.toLowerCase() === "secret" ? "Secret" : "ConfigMap"} ${name}, or mark the reference as optional`;
  const [, key, of, place] = /couldn't find key (\S+) in (ConfigMap|Secret) (\S+)/i.exec(message) ?? [];
  if (key) return `add the key ${key} to the ${of} ${place}, or mark the reference as optional`;
  return "create the ConfigMap, Secret or key that the message names";
}

const commandRemedies = (message: string): readonly string[] =>
  /executable file not found|no such file|not found in \$PATH/i.test(message)
    ? ["correct command and args: the image has no such program"]
    : /permission denied/i.test(message)
      ? ["the program is there, but may not be executed: see its mode, and runAsUser"]
      : ["see that command, args, workingDir and mounts fit the image"];

function stuck(container: ContainerStatus, waiting: Waiting, wait: Wait, facts: PodFacts): Reason {
  const { pod, events, now } = facts;
  const about = events.filter((event) => isAbout(event, container.name));
  const event = lastEvent(about, wait.events, ({ message }) => !/^Error: \w+$/.test(message ?? ""));
  const message = [waiting.message, event?.message].filter(Boolean).join("\n");
  return {
    code: wait.code,
    state: "wrong",
    alike: `${container.name} ${container.image}`,
    says: `waits: its container ${container.name} ${wait.says(container, message)}`,
    ...sinceOf(event ? (event.firstTimestamp ?? event.eventTime) : pod.status.startTime),
    evidence: [
      ...containerEvidence(container.name, [waiting.reason, waiting.message].filter(Boolean).join(": ")),
      ...eventEvidence(event),
      ...(wait.code === "ImagePull" ? nextPull(about, now) : []),
    ],
    remedies: wait.remedies(pod, message),
  };
}

type Waiting = NonNullable<NonNullable<ContainerStatus["state"]>["waiting"]>;

/** Events of one container name it by a path; those without one are about the whole pod. */
const isAbout = ({ involvedObject: { fieldPath } }: Event, container: string): boolean =>
  fieldPath === undefined || fieldPath.endsWith(`{${container}}`);

/** A kubelet waits 10 s after the first failed pull, then twice as long each time, 5 minutes at most. */
function nextPull(events: readonly Event[], now: number): readonly Evidence[] {
  const failed = lastEvent(events, ["Failed"], ({ message }) => /^Failed to pull image/.test(message ?? ""));
  const at = failed?.lastTimestamp ?? failed?.eventTime;
  if (!failed || at === undefined) return [];
  const delayMs = backoffMs({ firstMs: 10_000, maxMs: 300_000 }, timesSeen(failed) - 1);
  return nextTry("pull", millisOf(at) + delayMs, now);
}

const nextTry = (what: string, at: number, now: number): readonly Evidence[] => [
  {
    from: `next ${what}`,
    says: at > now ? `in about ${Math.ceil((at - now) / 1000)} s` : "is due",
    at: timeOf(at),
  },
];

function crashLoop(container: ContainerStatus, facts: PodFacts): Reason {
  const { pod, events, now, lastLines } = facts;
  const { name, restartCount, state, lastState } = container;
  const last = state?.terminated ?? lastState?.terminated;
  const probe = failedProbes(events, name, ["Liveness", "Startup"]).at(-1);
  const kill = probeKill(events);
  const isKilledByProbe = kill !== undefined;
  const lines = lastLines.get(name) ?? [];
  const restarts = restartCount > 0 ? `, and was restarted ${times(restartCount)}` : "";
  return {
    code: last?.reason === "OOMKilled" ? "OutOfMemory" : isKilledByProbe ? "ProbeKills" : "CrashLoop",
    state: "wrong",
    alike: `${name} ${last?.exitCode}`,
    says: `keeps failing: its container ${name} ${isKilledByProbe ? "was killed since its probe failed" : exitText(last)}${restarts}`,
    ...sinceOf(firstFailure(events) ?? last?.finishedAt),
    evidence: [
      ...containerEvidence(name, exitWords(last), last?.finishedAt),
      ...(last?.message ? [{ from: `last words of ${name}`, says: last.message.trim() }] : []),
      ...eventEvidence(probe ?? kill),
      ...logEvidence(name, lines),
      ...nextRestart(container, now),
    ],
    remedies: crashRemedies(pod, name, last, isKilledByProbe, lines.length > 0),
  };
}

export const logEvidence = (container: string, lines: readonly string[]): readonly Evidence[] =>
  lines.length > 0 ? [{ from: `log of ${container}`, says: lines.join("\n") }] : [];

const firstFailure = (events: readonly Event[]): string | undefined => lastEvent(events, ["BackOff"])?.firstTimestamp;

const exitWords = (last: ContainerStateTerminated | undefined): string =>
  last ? [last.reason, `exit code ${last.exitCode}`, ranFor(last)].filter(Boolean).join(", ") : "";

function ranFor({ startedAt, finishedAt }: ContainerStateTerminated): string {
  if (startedAt === undefined || finishedAt === undefined) return "";
  return `after ${spanTo(startedAt, millisOf(finishedAt))}`;
}

/** `back-off 40s restarting failed container=…` is counted from when the container ended. */
function nextRestart({ state, lastState }: ContainerStatus, now: number): readonly Evidence[] {
  const [, delay] = /^back-off (\S+) restarting/.exec(state?.waiting?.message ?? "") ?? [];
  const ended = lastState?.terminated?.finishedAt;
  if (delay === undefined || ended === undefined) return [];
  return nextTry("start", millisOf(ended) + parseDurationMs(delay), now);
}

function crashRemedies(
  pod: Pod,
  container: string,
  last: ContainerStateTerminated | undefined,
  isKilledByProbe: boolean,
  hasLines: boolean,
): readonly string[] {
  const read = `read ${hasLines ? "all" : "what"} it said before it ended: kubectl logs ${podArgument(pod)} -c ${container} --previous`;
  if (last?.reason === "OOMKilled") return [outOfMemoryRemedy, read];
  if (isKilledByProbe) return ["see what the probe asks for, and whether the program answers in time", read];
  if (last?.exitCode === 127 || last?.exitCode === 126)
    return ["see that the command exists in the image, and may be executed", read];
  if (last?.exitCode === 0)
    return ["a container that is always restarted must not end: run it as a Job, or let its program stay"];
  return [read];
}
