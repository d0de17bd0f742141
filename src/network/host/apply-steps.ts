import { ProgramFailed, runProgram } from "#base/host/run-program.ts";
import type { Step } from "../local-network.ts";

/** Does the steps one after the other; what is done already is fine. */
export async function applySteps(steps: readonly Step[], signal?: AbortSignal): Promise<void> {
  for (const { command, unless } of steps)
    try {
      await runProgram(command, { ...(signal && { signal }) });
    } catch (error) {
      if (!(unless && error instanceof ProgramFailed && unless.test(error.said))) throw error;
    }
}
