import { test } from "node:test";
import { impossible } from "../machine/machine.ts";
import { killMany } from "./real-kills.ts";

const times = Number(process.env.KILLS ?? 100);

test(`${times} kills of a cluster's process lose, double and leak no mount of a driver`, {
  skip: impossible,
}, async (t) => {
  t.diagnostic(await killMany(times, process.pid));
});
