import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { loopbackOnly } from "./loopback-only.ts";

test("a program that may use loopback only has no other device and no route", () => {
  const [program, args] = loopbackOnly("sh", ["-c", "ip -br link; ip route; ip -6 route show default"]);
  const lines = execFileSync(program, args, { encoding: "utf8" }).trim().split("\n");
  assert.equal(lines.length, 1, lines.join("\n"));
  assert.match(lines[0] ?? "", /^lo /);
});
