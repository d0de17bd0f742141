// The HTTPS front with real clients: one that leaves in the middle of an answer, and one that reads it to the end.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:http2";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { Certificates } from "#cluster/certificates.ts";
import { httpsFront } from "#wire/host/https.ts";

test("a stream whose client leaves is told so, however it leaves", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "https-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const certificates = new Certificates(folder, systemClock);
  const { cert: ca } = certificates.authority();
  const serving = certificates.issue("serving", { commonName: "server", hosts: ["127.0.0.1"] });
  for (const leaves of ["reset", "disconnect"] as const) {
    const { promise: told, resolve } = Promise.withResolvers<boolean>();
    const front = httpsFront({
      ...serving,
      clientCa: undefined,
      log: silentLog,
      handler: async ({ signal }) => {
        signal.addEventListener("abort", () => resolve(true), { once: true });
        return {
          code: 200,
          body: (async function* () {
            yield new TextEncoder().encode("first\n");
            await told;
          })(),
        };
      },
    });
    const session = connect(`https://127.0.0.1:${await front.listen(0, "127.0.0.1")}`, { ca });
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => undefined); // it is we who break it
    await new Promise((got) => stream.once("data", got));
    if (leaves === "reset") stream.close(8);
    else session.destroy();
    assert.equal(await told, true);
    session.destroy();
    await front.close(1000);
  }
});

test("an answer over HTTP/1.1 says how long it is, unless it has yet to come", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "https-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const certificates = new Certificates(folder, systemClock);
  const { cert: ca } = certificates.authority();
  const serving = certificates.issue("serving", { commonName: "server", hosts: ["127.0.0.1"] });
  const whole = "gr\u00fc\u00dfe\n";
  const front = httpsFront({
    ...serving,
    clientCa: undefined,
    log: silentLog,
    handler: async ({ path }) => ({
      code: 200,
      body: path === "/whole" ? whole : Readable.from([new TextEncoder().encode(whole)]),
    }),
  });
  const port = await front.listen(0, "127.0.0.1");
  t.after(() => front.close(1000));
  for (const [path, length] of [
    ["/whole", "8"],
    ["/stream", undefined],
  ] as const) {
    const [answer] = await once(get({ port, host: "127.0.0.1", path, ca, agent: false }), "response");
    assert.equal(answer.headers["content-length"], length, path);
    assert.equal((await answer.setEncoding("utf8").toArray()).join(""), whole);
  }
});
