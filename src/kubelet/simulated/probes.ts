// Probes of simulated containers: nothing is asked, the script knows when they would succeed and fail.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Probe } from "#api/core/v1/probe.ts";
import { containersIn } from "../pod/containers.ts";
import type { ProbeResults } from "../pod/view.ts";
import { type Findings, hasProbes, noFindings, type Probes } from "../probes/probes.ts";
import type { PodState } from "../runtime.ts";
import type { ContainerScript } from "./script.ts";

export function simulatedProbes(scriptOf: (containerId: string) => ContainerScript | undefined): Probes {
  return {
    results(pod: Pod, state: PodState, now: number): Findings {
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
        results.set(id, {
          startup: has(times.startupAt) ? "success" : undefined,
          readiness: has(times.readyAt) ? "success" : undefined,
          liveness: has(times.deadAt) ? "failure" : "success",
        });
      }
      return { results, wakeAt };
    },
    forget: () => undefined,
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
  return {
    startupAt,
    readyAt: Math.max(startupAt, startedAt + Math.max(after(readinessProbe), script.readyAfterMs)),
    deadAt: livenessProbe ? startedAt + script.liveMs : Number.POSITIVE_INFINITY,
  };
}

/** When a probe that always succeeds has succeeded often enough. */
const firstSuccessMs = ({ initialDelaySeconds = 0, successThreshold, periodSeconds }: Probe): number =>
  (initialDelaySeconds + (successThreshold - 1) * periodSeconds) * 1000;
