import { test } from "node:test";
import { impossible } from "../machine/machine.ts";
import { cycleMany, killMany } from "./kills.ts";

// `npm run soak` does many more of both.
test("kills of a cluster's process lose, double and leak no container", { skip: impossible }, async (t) => {
  t.diagnostic(await killMany(4, process.pid));
});

test("from up over the death of any process to down, nothing stays", { skip: impossible }, async (t) => {
  t.diagnostic(await cycleMany(3, process.pid));
});
