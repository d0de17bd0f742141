import { test } from "node:test";
import { impossible } from "../machine/machine.ts";
import { cycleMany, killMany } from "./kills.ts";

test("a cluster whose process is killed again and again loses, doubles and leaks no container", {
  skip: impossible,
}, async (t) => {
  t.diagnostic(await killMany(8, process.pid));
});

test("from up over the death of any process to down, nothing stays", { skip: impossible }, async (t) => {
  t.diagnostic(await cycleMany(3, process.pid));
});
