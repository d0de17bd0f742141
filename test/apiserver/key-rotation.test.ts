import { test } from "node:test";
import { rotateUnderKills } from "./key-rotation.ts";

test("keys of encryption are rotated under load and two kills: nothing is lost, and old keys open nothing", () =>
  rotateUnderKills(2, 1));
