// KILLS=25 and CYCLES=6 are for a machine that has no time for more.
import { test } from "node:test";
import { impossible } from "../machine/machine.ts";
import { cycleMany, killMany } from "./kills.ts";

const kills = Number(process.env.KILLS ?? 100);
const cycles = Number(process.env.CYCLES ?? 20);

test(`${kills} kills of a cluster's process lose, double and leak no container`, { skip: impossible }, async (t) => {
  t.diagnostic(await killMany(kills, process.pid));
});

test(`${cycles} cycles from up over the death of any process to down leave nothing`, {
  skip: impossible,
}, async (t) => {
  t.diagnostic(await cycleMany(cycles, process.pid));
});
