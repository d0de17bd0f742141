import { inBatches } from "#base/collections.ts";
import { ProgramFailed, runProgram } from "#base/host/run-program.ts";
import type { NetworkStep, Stages } from "../network-step.ts";

export interface ApplyOptions {
  readonly signal?: AbortSignal;
  /** What enters the host, where that is not this one: `["nsenter", "--net=/run/netns/x"]`. */
  readonly prefix?: readonly string[];
}

/** More would wait for each other: the kernel changes one thing of its networks at a time. */
const programsAtOnce = 8;

/** Runs the stages one after the other. A step that was done already is no error. */
export async function applySteps(stages: Stages, { signal, prefix = [] }: ApplyOptions = {}): Promise<void> {
  for (const steps of stages) await inBatches(programsAtOnce, steps, (step) => applyStep(step, prefix, signal));
}

async function applyStep({ command, input, unless }: NetworkStep, prefix: readonly string[], signal?: AbortSignal) {
  try {
    await runProgram([...prefix, ...command], { ...(input !== undefined && { input }), ...(signal && { signal }) });
  } catch (error) {
    if (!(error instanceof ProgramFailed && unless)) throw error;
    const reasons = error.said.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("Command failed"));
    if (reasons.length === 0 || !reasons.every((line) => unless.test(line))) throw error;
  }
}
