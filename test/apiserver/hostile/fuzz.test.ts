// The fuzz makes objects that tell the server to connect to others, so it runs where there is nothing but loopback.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { loopbackOnly } from "../../loopback-only.ts";

test("damaged requests get right answers, and only what was accepted is stored", async (t) => {
  const path = fileURLToPath(new URL("fuzz.ts", import.meta.url));
  // Node's runner does nothing in a process that it believes to be one of its own.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const [program, args] = loopbackOnly(process.execPath, ["--test", path]);
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const [code] = await once(child, "close");
  t.diagnostic(/\d+ requests by code.*/.exec(output)?.[0] ?? "");
  assert.equal(code, 0, output);
});
