// What is known of how containers are.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { ProbeResults } from "../pod/view.ts";
import type { PodState } from "../runtime.ts";

export interface ProbeFindings {
  /** By container id; only of containers that have probes. */
  readonly results: ReadonlyMap<string, ProbeResults>;
  /** When they may be different without anyone saying so; Infinity for never. */
  readonly wakeAt: number;
}

export interface Probes {
  /** What has been found so far. Containers that run and are not yet probed are from now on, those that have ended no longer. */
  results(pod: Pod, state: PodState, now: number): ProbeFindings;
  /** The pod is gone. */
  forget(podUid: string): void;
}

export const noFindings: ProbeFindings = { results: new Map(), wakeAt: Number.POSITIVE_INFINITY };

export const hasProbes = ({ startupProbe, livenessProbe, readinessProbe }: Container): boolean =>
  (startupProbe ?? livenessProbe ?? readinessProbe) !== undefined;
