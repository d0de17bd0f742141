// Gives memory back that a busy time has left behind. V8 would do it by itself, but only in a process that does next to nothing, and the
// leases of some hundred nodes are too much for that. So it is told to be sparing for a while when a busy time is over; not always,
// since then it would spend most of a busy time on collecting.
import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import type { Clock } from "../clock.ts";
import type { Component } from "../supervise.ts";

/** Parts of the time in which there was something to do. Processor time would tell less: on a busy machine there is little of it. */
const busy = 0.5;
const quiet = 0.3;
const lookMs = 2_000;
/** V8 looks every eight seconds whether there is something to give back. */
const sparingMs = 16_000;

export interface SpareMemoryOptions {
  readonly clock: Clock;
  /** The part of the time since the last call in which there was something to do. */
  readonly load?: () => number;
  /** Whether to take little memory, rather than little time. */
  readonly beSparing?: (sparing: boolean) => void;
}

export function spareMemory({ clock, load = ownLoad(), beSparing = tellV8 }: SpareMemoryOptions): Component {
  return {
    name: "memory",
    async run(signal) {
      let wasBusy = false;
      let sparingSince: number | undefined;
      const turn = (sparing: boolean) => {
        sparingSince = sparing ? clock.elapsed() : undefined;
        beSparing(sparing);
      };
      for (;;) {
        await clock.sleep(lookMs, signal);
        const used = load();
        if (used > busy) {
          wasBusy = true;
          if (sparingSince !== undefined) turn(false);
        } else if (sparingSince !== undefined) {
          if (clock.elapsed() - sparingSince >= sparingMs) turn(false);
        } else if (wasBusy && used < quiet) {
          wasBusy = false;
          turn(true);
        }
      }
    },
  };
}

function ownLoad(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}

const tellV8 = (sparing: boolean): void =>
  setFlagsFromString(sparing ? "--memory-saver-mode" : "--no-memory-saver-mode");
