import { test } from "node:test";
import { playIptablesHistory } from "./histories.ts";
import { impossible } from "./namespace.ts";

for (const kind of ["nft", "legacy"] as const)
  test(`iptables-${kind}: after each step of a history the kernel has the rules that the services call for`, {
    skip: impossible,
  }, async () => {
    await playIptablesHistory({ seed: 1, steps: 12, kind, services: 10 });
    await playIptablesHistory({ seed: 2, steps: 8, kind, services: 80 });
  });
