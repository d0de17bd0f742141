import { test } from "node:test";
import { playIptablesHistory } from "./histories.ts";
import { impossible } from "./namespace.ts";

for (const kind of ["nft", "legacy"] as const)
  test(`iptables-${kind}: 40 histories of 50 steps leave the kernel with the rules that the services call for`, {
    skip: impossible,
  }, async () => {
    for (let seed = 100; seed < 140; seed++)
      await playIptablesHistory({ seed, steps: 50, kind, services: seed % 2 === 0 ? 12 : 120 });
  });
