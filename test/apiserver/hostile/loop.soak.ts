import { test } from "node:test";
import { watchLoop } from "./loop.ts";

const REQUESTS = 3000;

for (const seed of [2, 3, 4])
  test(`${REQUESTS} large requests of seed ${seed} leave the event loop to others every 50 ms`, async (t) =>
    t.diagnostic(await watchLoop(REQUESTS, seed)));
