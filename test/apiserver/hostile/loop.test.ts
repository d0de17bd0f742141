// KNARR_FUZZ=1000 draws more requests, KNARR_SEED=7 others.
import { test } from "node:test";
import { watchLoop } from "./loop.ts";

const REQUESTS = Number(process.env.KNARR_FUZZ ?? 100);
const SEED = Number(process.env.KNARR_SEED ?? 1);

test(`${REQUESTS} large requests leave the event loop to others every 50 ms`, async (t) =>
  t.diagnostic(await watchLoop(REQUESTS, SEED)));
