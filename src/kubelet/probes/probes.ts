// Results of the probes of containers.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { ProbeResults } from "../pod/view.ts";
import type { PodState } from "../runtime.ts";

export interface ProbeFindings {
  /** By container id; only of containers that have probes. */
  readonly results: ReadonlyMap<string, ProbeResults>;
  /** When to ask again, since results may change without a notice; Infinity for never. */
  readonly wakeAt: number;
}

export interface Probes {
  /** Results so far. Starts probing containers that run, and stops probing those that have ended. */
  results(pod: Pod, state: PodState, now: number): ProbeFindings;
  /** The pod is gone. */
  forget(podUid: string): void;
}

export const noFindings: ProbeFindings = { results: new Map(), wakeAt: Number.POSITIVE_INFINITY };

export const hasProbes = ({ startupProbe, livenessProbe, readinessProbe }: Container): boolean =>
  (startupProbe ?? livenessProbe ?? readinessProbe) !== undefined;
