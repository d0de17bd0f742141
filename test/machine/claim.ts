// Tests that run at the same time must not have the same addresses on the machine: each claims a number, for as long as its process lives.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import type { Ranges } from "#network/conflicts.ts";

const folder = join(tmpdir(), "knarr-test-claims");
const most = 100;
const claimed = new Map<string, number>();
process.once("exit", () => {
  for (const number of claimed.values()) rmSync(join(folder, String(number)), { force: true });
});

/** Ranges that no other test has, nor a cluster that picks its own; the same for the same label. */
export function claimRanges(label: string): Ranges {
  const number = claimed.get(label) ?? claim();
  claimed.set(label, number);
  return {
    nodeRange: `${nodePrefix(number)}0/24`,
    podRange: `10.${100 + number}.0.0/16`,
    serviceRange: `198.19.${number}.0/25`,
    loadBalancerRange: `198.19.${number}.128/25`,
  };
}

/** The same, and ranges of IPv6 besides, or instead. */
export function claimIpv6Ranges(label: string, families: "dual" | "ipv6"): Ranges {
  const ranges = claimRanges(label);
  const number = claimed.get(label) ?? 0;
  const ipv6: Ranges = {
    nodeRange: `fd00:198:18:${number}::/64`,
    podRange: `fd00:198:${100 + number}::/56`,
    serviceRange: `fd00:198:19:${number}::/112`,
    loadBalancerRange: `fd00:198:20:${number}::/112`,
  };
  if (families === "ipv6") return ipv6;
  const both = Object.entries(ipv6).map(([name, range]) => [name, `${ranges[name as keyof Ranges]},${range}`]);
  return Object.fromEntries(both) as Ranges;
}

const nodePrefix = (number: number): string => `198.18.${number}.`;

function claim(): number {
  mkdirSync(folder, { recursive: true });
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
  for (let number = 0; number < most; number++) {
    // A test that was killed has left its cluster.
    if (addresses.some((address) => address.startsWith(nodePrefix(number)))) continue;
    const file = join(folder, String(number));
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return number;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (isAlive(file)) continue;
      rmSync(file, { force: true }); // whoever died left it; the next round may be another's
      number--;
    }
  }
  throw new Error(`all ${most} ranges for tests are claimed in ${folder}`);
}

function isAlive(file: string): boolean {
  try {
    process.kill(Number(readFileSync(file, "utf8")), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
