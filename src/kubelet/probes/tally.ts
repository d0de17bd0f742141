// Counts results of a probe in a row, until a threshold changes its state.
// Upstream: pkg/kubelet/prober/worker.go.
import type { Probe } from "#api/core/v1/probe.ts";
import type { ProbeResult } from "../pod/view.ts";

export interface Tally {
  readonly last: ProbeResult;
  /** How many results in a row were the same. */
  readonly run: number;
  /** The state of the probe. */
  readonly result: ProbeResult;
}

export const freshTally: Tally = { last: undefined, run: 0, result: undefined };

type Thresholds = Pick<Probe, "failureThreshold" | "successThreshold">;

export function countResult(tally: Tally, found: "success" | "failure", probe: Thresholds): Tally {
  const run = tally.last === found ? tally.run + 1 : 1;
  const needed = found === "failure" ? probe.failureThreshold : probe.successThreshold;
  return { last: found, run, result: run >= needed ? found : tally.result };
}
