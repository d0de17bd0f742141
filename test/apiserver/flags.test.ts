// Flags whose effect only a client sees.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { test } from "node:test";
import { connect as connectTls } from "node:tls";
import { ServerProcess } from "./harness.ts";
import { askOn } from "./hostile/front.ts";

test("a server serves nobody unknown, no old TLS and few streams, if told so", async () => {
  await using server = await ServerProcess.start({
    flags: ["--anonymous-auth=false", "--tls-min-version=VersionTLS13", "--http2-max-streams-per-connection=7"],
  });
  const ca = readFileSync(server.file("ca.crt"));
  const session = connect(server.url, { ca });
  const [settings] = await once(session, "remoteSettings");
  assert.equal(settings.maxConcurrentStreams, 7);
  for (const path of ["/livez", "/version", "/api/v1/namespaces"])
    assert.equal((await askOn(session, path)).code, 401, path);
  session.destroy();

  const { port } = new URL(server.url);
  const old = connectTls({ port: Number(port), host: "127.0.0.1", ca, maxVersion: "TLSv1.2" });
  const [error] = await once(old, "error");
  assert.match(String(error), /protocol version/);
});
