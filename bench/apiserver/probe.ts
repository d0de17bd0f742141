// Loaded into a measured server with --import, so that the server needs no code for it: tells what the process has used.
import { probeLoop, type Stall } from "../stall.ts";

/** What a measured process has used since it was last asked, and how long it stood still if that was watched. */
export interface Usage extends Stall {
  readonly cpuMs: number;
}

let cpu = process.cpuUsage();
let probe: ReturnType<typeof probeLoop> | undefined;

process.on("message", (question: "usage" | "stalls") => {
  const { user, system } = process.cpuUsage(cpu);
  cpu = process.cpuUsage();
  const usage: Usage = { cpuMs: (user + system) / 1000, ...(probe?.stop() ?? { clockMs: 0, ownMs: 0, usualOwnMs: 0 }) };
  process.send?.(usage);
  // It keeps the loop turning, so it only runs when asked to.
  probe = question === "stalls" ? probeLoop() : undefined;
});
process.channel?.unref();
