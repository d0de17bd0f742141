// The port without TLS: off unless asked for, on this machine alone, and not for pages.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { type IncomingHttpHeaders, request } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ServerProcess } from "./harness.ts";

const main = join(fileURLToPath(new URL("../..", import.meta.url)), "src/main.ts");

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

function get(port: number, path: string, headers: IncomingHttpHeaders = {}): Promise<{ code: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ port, host: "127.0.0.1", path, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      response.once("end", () => resolve({ code: response.statusCode ?? 0, text }));
    });
    asked.once("error", reject).end();
  });
}

test("whoever connects to the insecure port may do everything, but pages may do nothing", {}, async () => {
  const port = await freePort();
  await using _server = await ServerProcess.start({ flags: [`--insecure-port=${port}`] });
  const secrets = await get(port, "/api/v1/secrets");
  assert.equal(secrets.code, 200, secrets.text);
  const token = await get(port, "/api/v1/secrets", { authorization: "Bearer nonsense" });
  assert.equal(token.code, 200, "what else is shown is not looked at");
  for (const headers of [
    { origin: "https://example.com" },
    { "sec-fetch-site": "cross-site" },
    { host: "example.com" },
    { host: `rebound.example.com:${port}` },
  ])
    assert.equal((await get(port, "/api/v1/secrets", headers)).code, 403, JSON.stringify(headers));
  assert.equal((await get(port, "/version", { host: `localhost:${port}` })).code, 200);
});

test("by the secure port nobody is let in for the sake of the other", async () => {
  const port = await freePort();
  await using server = await ServerProcess.start({ flags: [`--insecure-port=${port}`] });
  const curl = spawnSync("curl", ["-sk", `${server.url}/api/v1/secrets`], { encoding: "utf8" });
  assert.match(curl.stdout, /"reason": ?"Forbidden"/);
  assert.match(curl.stdout, /system:anonymous/);
});

test("an address that others can reach is refused", () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    [main, "apiserver", "--store=memory", "--insecure-port=8080", "--insecure-bind-address=0.0.0.0"],
    { encoding: "utf8", timeout: 120_000 },
  );
  assert.equal(status, 2, stderr);
  assert.match(stderr, /--insecure-bind-address: "0\.0\.0\.0" can be reached from elsewhere/);
});
