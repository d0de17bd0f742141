// How long processes have waited for processors, memory or disks (pressure stall information), of a control group of version 2 or of the
// machine.
// Upstream: pkg/kubelet/stats/helper.go.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "#base/errors.ts";
import type { PressureStats } from "../../stats/summary.ts";

export interface Pressures {
  readonly cpu?: PressureStats;
  readonly memory?: PressureStats;
  readonly io?: PressureStats;
}

/** Of a folder of the control groups. Nothing where the kernel does not tell it. */
export const groupPressures = (folder: string): Promise<Pressures> =>
  pressuresIn((resource) => join(folder, `${resource}.pressure`));

export const machinePressures = (): Promise<Pressures> => pressuresIn((resource) => `/proc/pressure/${resource}`);

async function pressuresIn(fileOf: (resource: string) => string): Promise<Pressures> {
  const read = async (resource: "cpu" | "memory" | "io") => {
    try {
      const stats = parsePressure(await readFile(fileOf(resource), "utf8"));
      return stats && { [resource]: stats };
    } catch (error) {
      // The group has gone, or the kernel was started without.
      if (hasCode(error, "ENOENT", "ENODEV", "EOPNOTSUPP", "ENOTDIR")) return undefined;
      throw error;
    }
  };
  const [cpu, memory, io] = await Promise.all([read("cpu"), read("memory"), read("io")]);
  return { ...cpu, ...memory, ...io };
}

/** `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`, and the same for `full`, which some kernels do not have of processors. */
export function parsePressure(text: string): PressureStats | undefined {
  const lines = new Map(
    [...text.matchAll(/^(some|full) avg10=([\d.]+) avg60=([\d.]+) avg300=([\d.]+) total=(\d+)$/gm)].map(
      ([, which = "", ...numbers]) => {
        const [avg10 = 0, avg60 = 0, avg300 = 0, micros = 0] = numbers.map(Number);
        return [which, { total: micros * 1000, avg10, avg60, avg300 }] as const;
      },
    ),
  );
  const some = lines.get("some");
  return some && { full: lines.get("full") ?? { total: 0, avg10: 0, avg60: 0, avg300: 0 }, some };
}
