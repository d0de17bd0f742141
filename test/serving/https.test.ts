// The HTTPS front with real clients: some leave in the middle of an answer, others read it to the end.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:http2";
import { get } from "node:https";
import { createConnection, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { Certificates } from "#cluster/certificates.ts";
import { httpsFront } from "#serving/host/https/front.ts";
import type { FrontLimits } from "#serving/host/https/limits.ts";
import type { HttpHandler, HttpResponse } from "#wire/http.ts";

/** A front for a test, with what a client needs to trust it. */
async function open(t: TestContext, handler: HttpHandler, limits: Partial<FrontLimits> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "https-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const certificates = new Certificates(folder, systemClock);
  const { cert: ca } = certificates.authority();
  const serving = certificates.issue("serving", { commonName: "server", hosts: ["127.0.0.1"] });
  const front = httpsFront({ ...serving, clientCa: undefined, log: silentLog, handler, limits });
  const port = await front.listen(0, "127.0.0.1");
  t.after(() => front.close(1000));
  return { port, ca };
}

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

const bytes = (text: string) => new TextEncoder().encode(text);

test("an answer over HTTP/1.1 says how long it is, unless it has yet to come", async (t) => {
  const whole = "gr\u00fc\u00dfe\n";
  const { port, ca } = await open(t, async ({ path }) => ({
    code: 200,
    body: path === "/whole" ? whole : Readable.from([bytes(whole)]),
  }));
  for (const [path, length] of [
    ["/whole", "8"],
    ["/stream", undefined],
  ] as const) {
    const [answer] = await once(get({ port, host: "127.0.0.1", path, ca, agent: false }), "response");
    assert.equal(answer.headers["content-length"], length, path);
    assert.equal((await answer.setEncoding("utf8").toArray()).join(""), whole);
  }
});

test("a long answer is compressed for who can read it, by either protocol; a short one and a stream are not", async (t) => {
  const line = "one of many objects\n";
  const part = bytes(line);
  const bodies: Readonly<Record<string, () => HttpResponse["body"]>> = {
    "/long": () => line.repeat(10_000),
    "/parts": () => ({
      size: part.length * 10_000,
      *[Symbol.iterator]() {
        for (let i = 0; i < 10_000; i++) yield part;
      },
    }),
    "/short": () => line.repeat(10),
    "/stream": () => Readable.from([part]),
  };
  const { port, ca } = await open(t, async ({ path }) => ({ code: 200, body: bodies[path]?.() ?? "" }));
  const session = connect(`https://127.0.0.1:${port}`, { ca });
  t.after(() => session.destroy());
  const overHttp1 = async (path: string, headers: Record<string, string>) => {
    const [answer] = await once(get({ port, host: "127.0.0.1", path, ca, headers, agent: false }), "response");
    return { encoding: answer.headers["content-encoding"], content: await buffer(answer) };
  };
  const overHttp2 = async (path: string, headers: Record<string, string>) => {
    const stream = session.request({ ":path": path, ...headers });
    const [head] = await once(stream, "response");
    return { encoding: head["content-encoding"], content: await buffer(stream) };
  };
  for (const ask of [overHttp1, overHttp2])
    for (const [path, times, isLong] of [
      ["/long", 10_000, true],
      ["/parts", 10_000, true],
      ["/short", 10, false],
      ["/stream", 1, false],
    ] as const)
      for (const accepted of ["gzip, deflate", undefined]) {
        const { encoding, content } = await ask(path, accepted === undefined ? {} : { "accept-encoding": accepted });
        const isZipped = isLong && accepted !== undefined;
        assert.equal(encoding, isZipped ? "gzip" : undefined, `${path} for ${accepted}`);
        assert.equal((isZipped ? gunzipSync(content) : content).toString(), line.repeat(times));
      }
});

test("one address cannot take all connections, even before it has shown who it is", async (t) => {
  const { port, ca } = await open(t, async () => ({ code: 200, body: "ok" }), { connections: 4 });
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const silent = async (localAddress: string) => {
    const socket = createConnection({ port, host: "127.0.0.1", localAddress });
    sockets.push(socket);
    socket.on("error", () => undefined); // a dropped connection may be reset
    await once(socket, "connect");
    return socket;
  };
  await silent("127.0.0.1");
  await silent("127.0.0.1");
  const third = await silent("127.0.0.1");
  if (!third.closed) await once(third, "close");
  const answer = await new Promise<number | undefined>((resolve, reject) => {
    const options = { port, host: "127.0.0.1", localAddress: "127.0.0.2", ca, agent: false };
    get(options, (response) => resolve(response.resume().statusCode)).on("error", reject);
  });
  assert.equal(answer, 200);
});
