import { test } from "node:test";
import { rotateUnderKills } from "./key-rotation.ts";

test("keys of encryption are rotated under load and 200 kills: nothing is lost, and old keys open nothing", () =>
  rotateUnderKills(200, Number(process.env.KNARR_SEED ?? 1)));
