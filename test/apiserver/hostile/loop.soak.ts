// KNARR_FUZZ=3000 draws more requests of each seed, each of which takes a tenth of a second of processor time.
import { test } from "node:test";
import { watchLoop } from "./loop.ts";

const REQUESTS = Number(process.env.KNARR_FUZZ ?? 1000);

for (const seed of [2, 3, 4])
  test(`${REQUESTS} large requests of seed ${seed} leave the event loop to others every 50 ms`, async (t) =>
    t.diagnostic(await watchLoop(REQUESTS, seed)));
