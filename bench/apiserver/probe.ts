// Loaded into a measured server with --import, so that the server needs no code for it: tells what the process has used.

/** What a measured process has used since it was last asked. */
export interface Usage {
  readonly cpuMs: number;
  /** The longest turn of the event loop, by the clock and by the work the thread did in it. */
  readonly wallMs: number;
  readonly ownMs: number;
}

const longest = { wallMs: 0, ownMs: 0 };
let cpu = process.cpuUsage();
let [turn, own] = [performance.now(), threadMs()];
let watching = false;

process.on("message", (question: "usage" | "stalls") => {
  const used = process.cpuUsage(cpu);
  cpu = process.cpuUsage();
  const usage: Usage = {
    cpuMs: (used.user + used.system) / 1000,
    ...longest,
  };
  process.send?.(usage);
  [longest.wallMs, longest.ownMs] = [0, 0];
  watching = question === "stalls";
  if (watching) {
    [turn, own] = [performance.now(), threadMs()];
    setImmediate(look);
  }
});
process.channel?.unref();

/** Runs once in every turn of the event loop. It spins while it runs, so it only runs when asked to. */
function look(): void {
  const [now, used] = [performance.now(), threadMs()];
  longest.wallMs = Math.max(longest.wallMs, now - turn);
  longest.ownMs = Math.max(longest.ownMs, used - own);
  [turn, own] = [now, used];
  if (watching) setImmediate(look);
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
