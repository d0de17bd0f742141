import type { FileSystemState } from "../../node/pressure.ts";
import { usageUnit, type VolumeUsage } from "./messages.ts";

/** What a driver says about how full a volume is. */
export function usageOf(usage: readonly VolumeUsage[]): FileSystemState | undefined {
  const bytes = usage.find(({ unit }) => unit === usageUnit.bytes);
  const inodes = usage.find(({ unit }) => unit === usageUnit.inodes);
  if (!bytes) return undefined;
  return {
    capacityBytes: bytes.total,
    availableBytes: bytes.available,
    usedBytes: bytes.used,
    inodes: inodes?.total ?? 0,
    inodesFree: inodes?.available ?? 0,
  };
}
