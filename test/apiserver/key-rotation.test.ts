import { test } from "node:test";
import { rotateUnderKills } from "./key-rotation.ts";

test("keys of encryption are rotated under load and five kills: nothing is lost, and old keys open nothing", async (t) => {
  t.diagnostic(JSON.stringify(await rotateUnderKills(5, 1)));
});
