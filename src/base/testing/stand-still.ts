import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

/** Stops a process, and waits until none of its threads runs any more: the signal alone lets them answer for a while. */
export async function standStill(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  while (!stateOfThreads(pid).every((state) => state === "T")) await pause(1);
}

const stateOfThreads = (pid: number): readonly (string | undefined)[] =>
  readdirSync(`/proc/${pid}/task`).map(
    // The name of the program is in brackets, and may hold any.
    (thread) => readFileSync(`/proc/${pid}/task/${thread}/stat`, "latin1").split(") ").at(-1)?.[0],
  );
