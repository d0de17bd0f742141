// When a node is under pressure. The thresholds are upstream's.
// Upstream: pkg/kubelet/eviction/defaults_linux.go and pkg/kubelet/eviction/helpers.go.

export interface FileSystemState {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

/** How much there is, and is left, of what a machine can run out of. */
export interface MachineState {
  readonly memoryBytes: number;
  readonly memoryAvailableBytes: number;
  /** Where volumes and logs are. */
  readonly nodeFs: FileSystemState;
  /** Where images are. */
  readonly imageFs: FileSystemState;
  /** How many processes there are and may be, where there is a limit that counts. */
  readonly pids?: { readonly used: number; readonly most: number };
}

/** Parts of a file system, bytes of memory; processes are not watched unless a part of them is given. */
export interface EvictionThresholds {
  readonly memoryAvailableBytes: number;
  readonly nodeFsAvailable: number;
  readonly nodeFsInodesFree: number;
  readonly imageFsAvailable: number;
  readonly imageFsInodesFree: number;
  readonly pidsAvailable?: number;
}

export const evictionThresholds: EvictionThresholds = {
  memoryAvailableBytes: 100 * 2 ** 20,
  nodeFsAvailable: 0.1,
  nodeFsInodesFree: 0.05,
  imageFsAvailable: 0.15,
  imageFsInodesFree: 0.05,
};

export type Pressure = "memoryPressure" | "diskPressure" | "pidPressure";

/** What there is too little of right now. */
export function pressuresOf(machine: MachineState, thresholds: EvictionThresholds): ReadonlySet<Pressure> {
  const pressures = new Set<Pressure>();
  const { memoryAvailableBytes, nodeFs, imageFs, pids } = machine;
  if (memoryAvailableBytes < thresholds.memoryAvailableBytes) pressures.add("memoryPressure");
  if (
    isLow(nodeFs, thresholds.nodeFsAvailable, thresholds.nodeFsInodesFree) ||
    isLow(imageFs, thresholds.imageFsAvailable, thresholds.imageFsInodesFree)
  )
    pressures.add("diskPressure");
  const { pidsAvailable = 0 } = thresholds;
  if (pids && pids.most - pids.used < pids.most * pidsAvailable) pressures.add("pidPressure");
  return pressures;
}

/** A file system without a number of inodes has no limit of them. */
const isLow = (fs: FileSystemState, available: number, inodesFree: number): boolean =>
  fs.availableBytes < fs.capacityBytes * available || (fs.inodes > 0 && fs.inodesFree < fs.inodes * inodesFree);

/** Pressure is reported for a while after it has ended, so that pods do not come back at once. */
export const pressureLastsMs = 300_000;

export class PressureMemory {
  readonly #last = new Map<Pressure, number>();

  /** What is said now, given what is found now. */
  note(found: ReadonlySet<Pressure>, nowMs: number): Readonly<Partial<Record<Pressure, true>>> {
    for (const pressure of found) this.#last.set(pressure, nowMs);
    const said: Partial<Record<Pressure, true>> = {};
    for (const [pressure, at] of this.#last)
      if (nowMs - at < pressureLastsMs) said[pressure] = true;
      else this.#last.delete(pressure);
    return said;
  }
}
