import { test } from "node:test";
import { impossible } from "../machine/machine.ts";
import { cycleMany } from "./kills.ts";

test("from up over the death of any process to down, nothing stays", { skip: impossible }, async (t) => {
  t.diagnostic(await cycleMany(3, process.pid));
});
