import { systemClock } from "#base/clock.ts";
import type { ClusterFolder } from "./cluster-folder.ts";

/** How long the process of a cluster may take to end. */
export const graceMs = 10_000;
const lookMs = 20;

/** Ends the process of a cluster, and returns when it has ended; false if there was none. One that does not listen is killed. */
export async function endProcess(place: ClusterFolder, signal: AbortSignal): Promise<boolean> {
  const holder = place.process;
  if (!holder) return false;
  process.kill(holder.pid, "SIGTERM");
  // A process that is not our child tells nobody that it has ended.
  const isOver = () => !holder.isAlive();
  const killAt = systemClock.elapsed() + graceMs;
  while (!isOver() && systemClock.elapsed() < killAt) await systemClock.sleep(lookMs, signal);
  if (!isOver()) process.kill(holder.pid, "SIGKILL");
  while (!isOver()) await systemClock.sleep(lookMs, signal);
  return true;
}
