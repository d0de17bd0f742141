// How often a probe must say the same before it is believed.
import type { Probe } from "#api/core/v1/probe.ts";
import type { ProbeResult } from "../pod/view.ts";

export interface Tally {
  readonly last: ProbeResult;
  /** How often in a row. */
  readonly run: number;
  /** What is believed. */
  readonly result: ProbeResult;
}

export const freshTally: Tally = { last: undefined, run: 0, result: undefined };

type Thresholds = Pick<Probe, "failureThreshold" | "successThreshold">;

export function countResult(tally: Tally, found: "success" | "failure", probe: Thresholds): Tally {
  const run = tally.last === found ? tally.run + 1 : 1;
  const needed = found === "failure" ? probe.failureThreshold : probe.successThreshold;
  return { last: found, run, result: run >= needed ? found : tally.result };
}
