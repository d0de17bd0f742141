import { test } from "node:test";
import { impossible } from "../machine/machine.ts";
import { cycleMany, killMany } from "./kills.ts";

test("100 kills of a cluster's process lose, double and leak no container", { skip: impossible }, async (t) => {
  t.diagnostic(await killMany(100, process.pid));
});

test("20 cycles from up over the death of any process to down leave nothing", { skip: impossible }, async (t) => {
  t.diagnostic(await cycleMany(20, process.pid));
});
