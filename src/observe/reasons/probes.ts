// What probes found, and what follows from it.
import type { Container } from "#api/core/v1/container.ts";
import type { ContainerStatus } from "#api/core/v1/container-status.ts";
import type { Event } from "#api/core/v1/event.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Probe } from "#api/core/v1/probe.ts";
import { millisOf } from "#schema/time.ts";
import { exitText } from "./exit.ts";
import { containersOf, type PodRule, podArgument, podCondition } from "./pod-facts.ts";
import {
  conditionEvidence,
  containerEvidence,
  counted,
  type Evidence,
  eventEvidence,
  lastEvent,
  sinceOf,
  times,
} from "./reason.ts";

export type ProbeTitle = "Startup" | "Liveness" | "Readiness";

/** The events of failed probes of a container, oldest first. */
export const failedProbes = (events: readonly Event[], container: string, titles: readonly ProbeTitle[]) =>
  events.filter(
    ({ reason, message = "", involvedObject: { fieldPath } }) =>
      reason === "Unhealthy" &&
      titles.some((title) => message.startsWith(`${title} probe`)) &&
      (fieldPath === undefined || fieldPath.endsWith(`{${container}}`)),
  );

/** It runs, but no service sends it traffic. */
export const notReady: PodRule = ({ pod, events }) => {
  const ready = podCondition(pod, "Ready");
  if (ready?.status === "True") return undefined;
  const gates = (pod.spec.readinessGates ?? []).filter(
    ({ conditionType }) => podCondition(pod, conditionType)?.status !== "True",
  );
  const unready = (pod.status.containerStatuses ?? []).filter((container) => !container.ready);
  const probes = unready.flatMap((container) => probeTrouble(container, pod, events));
  const [first] = probes;
  const shared = {
    ...sinceOf(ready?.lastTransitionTime),
    evidence: [
      ...conditionEvidence(ready),
      ...probes.flatMap(({ evidence }) => evidence),
      ...gates.map(({ conditionType }) => ({ from: `readiness gate ${conditionType}`, says: "is not True" })),
    ],
    remedies: [
      ...new Set(probes.flatMap(({ remedies }) => remedies)),
      ...(gates.length > 0 ? ["whoever set the readiness gates has to set their conditions"] : []),
    ],
  };
  if (first)
    return {
      ...shared,
      code: first.code,
      state: first.hasFailed ? "wrong" : "underway",
      alike: first.container,
      says: `runs, but is not ready, so no service sends it traffic: ${first.says}`,
    };
  return {
    ...shared,
    code: gates.length > 0 ? "ReadinessGates" : "NotReady",
    state: gates.length > 0 && unready.length === 0 ? "wrong" : "underway",
    alike: gates.map(({ conditionType }) => conditionType).join(),
    says: `runs, but is not ready, so no service sends it traffic${gates.length > 0 && unready.length === 0 ? `: its readiness ${gates.length === 1 ? "gate waits" : "gates wait"} for ${gates.map(({ conditionType }) => conditionType).join(", ")}` : ""}`,
  };
};

interface ProbeTrouble {
  readonly code: string;
  readonly container: string;
  readonly hasFailed: boolean;
  readonly says: string;
  readonly evidence: readonly Evidence[];
  readonly remedies: readonly string[];
}

/** The probe that keeps a running container from being ready. */
function probeTrouble(status: ContainerStatus, pod: Pod, events: readonly Event[]): readonly ProbeTrouble[] {
  const spec = pod.spec.containers.find(({ name }) => name === status.name);
  if (!spec || !status.state?.running) return [];
  const title: ProbeTitle = status.started !== true && spec.startupProbe ? "Startup" : "Readiness";
  const probe = title === "Startup" ? spec.startupProbe : spec.readinessProbe;
  if (!probe) return [];
  const failure = failedProbes(events, status.name, [title]).at(-1);
  const does = failure ? "fails" : "has not succeeded yet";
  const consequence =
    title === "Startup" ? `; after ${counted(probe.failureThreshold, "failure")} in a row it is restarted` : "";
  return [
    {
      code: `${title}Probe`,
      container: status.name,
      hasFailed: failure !== undefined,
      says: `the ${title.toLowerCase()} probe of its container ${status.name} ${does}${consequence}`,
      evidence: [
        ...eventEvidence(failure),
        { from: `${title.toLowerCase()} probe of ${status.name}`, says: probeText(probe, spec) },
      ],
      remedies: failure ? ["see what the probe asks for, and whether the program answers in time"] : [],
    },
  ];
}

/** The probe in words: what it does, and how often. */
function probeText(probe: Probe, { ports = [] }: Container): string {
  const {
    httpGet,
    tcpSocket,
    exec,
    grpc,
    periodSeconds,
    timeoutSeconds,
    failureThreshold,
    initialDelaySeconds = 0,
  } = probe;
  const port = (wanted: number | string) => {
    const named = ports.find(({ name }) => name === wanted)?.containerPort;
    return named === undefined ? `${wanted}` : `${wanted} (${named})`;
  };
  const what = httpGet
    ? `${httpGet.scheme} GET ${httpGet.path} on port ${port(httpGet.port)}`
    : tcpSocket
      ? `connects to port ${port(tcpSocket.port)}`
      : grpc
        ? `gRPC health of port ${grpc.port}`
        : `runs ${JSON.stringify(exec?.command ?? [])}`;
  const delay = initialDelaySeconds > 0 ? `, first after ${initialDelaySeconds} s` : "";
  return `${what}, every ${periodSeconds} s, ${timeoutSeconds} s to answer, ${counted(failureThreshold, "failure")} count${delay}`;
}

/** That a container was ended for its probe. */
export const probeKill = (events: readonly Event[]): Event | undefined =>
  lastEvent(events, ["Killing"], ({ message }) => /failed (liveness|startup) probe/.test(message ?? ""));

export const outOfMemoryRemedy = "give it a higher memory limit, or find out what it uses the memory for";

const recentMs = 600_000;

/** It runs now, but was restarted not long ago: often by its liveness probe. */
export const restarted: PodRule = ({ pod, events, now }) => {
  for (const { name, restartCount, lastState } of containersOf(pod)) {
    const last = lastState?.terminated;
    if (!last?.finishedAt || restartCount === 0 || now - millisOf(last.finishedAt) > recentMs) continue;
    const probe = failedProbes(events, name, ["Liveness", "Startup"]).at(-1);
    const kill = probeKill(events);
    const isProbe = kill !== undefined;
    const spec = pod.spec.containers.find((one) => one.name === name);
    const liveness = spec?.livenessProbe;
    return {
      code: isProbe ? "ProbeKills" : last.reason === "OOMKilled" ? "OutOfMemory" : "Restarted",
      state: "wrong",
      alike: name,
      says: `runs, but its container ${name} was restarted ${times(restartCount)}, the last time because ${isProbe ? "its liveness probe failed" : `it ${exitText(last)}`}`,
      since: last.finishedAt,
      evidence: [
        ...containerEvidence(name, `${last.reason ?? "ended"}, exit code ${last.exitCode}`, last.finishedAt),
        ...eventEvidence(probe),
        ...eventEvidence(isProbe ? kill : undefined),
        ...(isProbe && spec && liveness
          ? [{ from: `liveness probe of ${name}`, says: probeText(liveness, spec) }]
          : []),
      ],
      remedies: [
        ...(isProbe ? ["see what the probe asks for, and whether the program answers in time"] : []),
        ...(last.reason === "OOMKilled" ? [outOfMemoryRemedy] : []),
        `read what it said before it ended: kubectl logs ${podArgument(pod)} -c ${name} --previous`,
      ],
    };
  }
  return undefined;
};
