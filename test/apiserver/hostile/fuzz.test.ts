// The fuzz makes objects that tell the server to connect to others: webhooks, API services, nodes, endpoints. So it runs in a network
// namespace of its own that has nothing but a loopback device.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

test("damaged requests get right answers, and only what was accepted is stored", async (t) => {
  const path = fileURLToPath(new URL("fuzz.ts", import.meta.url));
  const script = `ip link set lo up && exec "$0" "$@"`;
  // Node's runner does nothing in a process that it believes to be one of its own.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const program = ["sh", "-c", script, process.execPath, "--test", path];
  const child = spawn("unshare", ["--net", ...(process.getuid?.() === 0 ? [] : ["--map-root-user"]), ...program], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const [code] = await once(child, "close");
  t.diagnostic(/\d+ requests by code.*/.exec(output)?.[0] ?? "");
  assert.equal(code, 0, output);
});
