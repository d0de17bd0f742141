// Probes of simulated containers: nothing is asked, the script knows when they would succeed and fail.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Probe } from "#api/core/v1/probe.ts";
import { containersIn } from "../pod/containers.ts";
import type { ProbeResults } from "../pod/view.ts";
import type { RecordEvent } from "../pods-context.ts";
import { hasProbes, noFindings, type ProbeFindings, type Probes } from "../probes/probes.ts";
import type { PodState } from "../runtime.ts";
import type { ContainerScript } from "./script.ts";

export function simulatedProbes(
  scriptOf: (containerId: string) => ContainerScript | undefined,
  event: RecordEvent,
): Probes {
  /** What was told of failures, by pod: each once for a run of a container, where a kubelet would go on telling. */
  const reported = new Map<string, Set<string>>();
  const tellOnce = (pod: Pod, container: Container, id: string, text: string): void => {
    const { uid = "" } = pod.metadata;
    const known = reported.get(uid) ?? new Set();
    const key = `${id} ${text}`;
    if (known.has(key)) return;
    reported.set(uid, known.add(key));
    event(pod, "Warning", "Unhealthy", text, container.name);
  };
  return {
    results(pod: Pod, state: PodState, now: number): ProbeFindings {
      if (!isProbed(pod)) return noFindings;
      const specs = containersIn(pod.spec);
      const results = new Map<string, ProbeResults>();
      let wakeAt = Number.POSITIVE_INFINITY;
      for (const { id, name, phase, startedAt } of state.containers) {
        const container = specs.get(name);
        const script = scriptOf(id);
        if (phase !== "running" || !container || !script || !hasProbes(container)) continue;
        const times = timesOf(container, script, startedAt);
        const has = (at: number): boolean => {
          if (now < at) wakeAt = Math.min(wakeAt, at);
          return now >= at;
        };
        for (const { title, from, until } of times.failures)
          if (has(from) && now < until) tellOnce(pod, container, id, `${title} probe failed: ${script.probeMessage}`);
        results.set(id, {
          startup: has(times.startupAt) ? "success" : undefined,
          readiness: has(times.unreadyAt) ? "failure" : has(times.readyAt) ? "success" : undefined,
          liveness: has(times.deadAt) ? "failure" : "success",
        });
      }
      return { results, wakeAt };
    },
    forget: (uid) => void reported.delete(uid),
  };
}

const isProbed = ({ spec }: Pod): boolean =>
  spec.containers.some(hasProbes) || (spec.initContainers?.some(hasProbes) ?? false);

function timesOf(
  { startupProbe, readinessProbe, livenessProbe }: Container,
  script: ContainerScript,
  startedAt: number,
) {
  const after = (probe: Probe | undefined): number => (probe ? firstSuccessMs(probe) : 0);
  const startupAt = startedAt + Math.max(after(startupProbe), startupProbe ? script.readyAfterMs : 0);
  const readyAt = Math.max(startupAt, startedAt + Math.max(after(readinessProbe), script.readyAfterMs));
  const unreadyAt = readinessProbe ? startedAt + script.readyMs : Number.POSITIVE_INFINITY;
  const deadAt = livenessProbe ? startedAt + script.liveMs : Number.POSITIVE_INFINITY;
  const goodAt = startedAt + script.readyAfterMs;
  const failures = [
    ...(startupProbe ? [{ title: "Startup", from: startedAt + delayMs(startupProbe), until: goodAt }] : []),
    ...(readinessProbe
      ? [
          { title: "Readiness", from: startupAt + delayMs(readinessProbe), until: goodAt },
          { title: "Readiness", from: unreadyAt, until: Number.POSITIVE_INFINITY },
        ]
      : []),
    { title: "Liveness", from: deadAt, until: Number.POSITIVE_INFINITY },
  ];
  return { startupAt, readyAt, unreadyAt, deadAt, failures: failures.filter(({ from, until }) => from < until) };
}

const delayMs = ({ initialDelaySeconds = 0 }: Probe): number => initialDelaySeconds * 1000;

/** When a probe that always succeeds has succeeded often enough. */
const firstSuccessMs = (probe: Probe): number =>
  delayMs(probe) + (probe.successThreshold - 1) * probe.periodSeconds * 1000;
