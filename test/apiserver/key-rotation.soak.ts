import { test } from "node:test";
import { rotateUnderKills } from "./key-rotation.ts";

const { KILLS = "200", KNARR_SEED = "1" } = process.env;

test(`keys of encryption are rotated under load and ${KILLS} kills: nothing is lost, and old keys open nothing`, async (t) => {
  t.diagnostic(JSON.stringify({ ...(await rotateUnderKills(Number(KILLS), Number(KNARR_SEED))), seed: KNARR_SEED }));
});
