// Clients that send too much, too slowly or nothing at all. Each is let go in bounded time, and others are served meanwhile.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { request as httpsRequest } from "node:https";
import { connect as connectTcp } from "node:net";
import { test } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { gzipSync } from "node:zlib";
import { type Answer, ask, askOn, closed, type Front, startFront } from "./front.ts";

const MIB = 1024 * 1024;
const configMaps = "/api/v1/namespaces/default/configmaps";

interface Upload {
  readonly bytes: number;
  readonly chunked?: boolean;
}

/** Over HTTP/1.1, as fast as it is taken; the answer may come before all was sent. */
function uploadHttp1(
  { port, ca }: Front,
  { bytes, chunked = false }: Upload,
): Promise<Answer & { readonly sent: number }> {
  return new Promise((resolve, reject) => {
    let sent = 0;
    const headers = { "content-type": "application/json", ...(!chunked && { "content-length": String(bytes) }) };
    const request = httpsRequest({ port, host: "127.0.0.1", ca, method: "POST", path: configMaps, headers });
    request.once("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      response.once("end", () => resolve({ code: response.statusCode ?? 0, text, sent }));
    });
    request.once("error", reject);
    const piece = Buffer.alloc(64 * 1024, " ");
    const push = () => {
      while (sent < bytes && !request.destroyed) {
        const part = piece.subarray(0, Math.min(piece.length, bytes - sent));
        sent += part.length;
        if (!request.write(part)) return void request.once("drain", push);
      }
      request.end();
    };
    push();
  });
}

function uploadHttp2({ url, ca }: Front, bytes: number): Promise<Answer> {
  const session = connectHttp2(url, { ca });
  return new Promise<Answer>((resolve, reject) => {
    const stream = session.request({ ":method": "POST", ":path": configMaps, "content-type": "application/json" });
    let code = 0;
    let text = "";
    stream.on("response", (head) => {
      code = Number(head[":status"]);
    });
    stream.setEncoding("utf8").on("data", (part) => {
      text += part;
    });
    stream.once("end", () => resolve({ code, text }));
    stream.once("error", reject);
    stream.end(Buffer.alloc(bytes, " "));
  }).then(
    async (answer) => {
      assert.equal((await askOn(session, "/version")).code, 200, "the connection is still good for others");
      session.destroy();
      return answer;
    },
    (error) => {
      session.destroy();
      throw error;
    },
  );
}

function assertTooLarge({ code, text }: Answer): void {
  assert.equal(code, 413, text);
  const { kind, status, reason, message } = JSON.parse(text);
  assert.deepEqual(
    { kind, status, reason, message },
    {
      kind: "Status",
      status: "Failure",
      reason: "RequestEntityTooLarge",
      message: `Request entity too large: limit is ${3 * MIB}`,
    },
  );
}

test("a body of 3 MiB is read, a larger one is refused with a Status, however it comes", {}, async () => {
  await using front = await startFront();
  assert.equal((await uploadHttp1(front, { bytes: 3 * MIB })).code, 400, "3 MiB of blanks are read, and are no object");
  assert.equal((await uploadHttp2(front, 3 * MIB)).code, 400);
  assertTooLarge(await uploadHttp1(front, { bytes: 3 * MIB + 1 }));
  assertTooLarge(await uploadHttp1(front, { bytes: 3 * MIB + 1, chunked: true }));
  assertTooLarge(await uploadHttp2(front, 3 * MIB + 1));
});

test("who goes on sending after the refusal is cut off", async () => {
  await using front = await startFront();
  const endless = 100_000 * MIB;
  const answer = await uploadHttp1(front, { bytes: endless, chunked: true });
  assertTooLarge(answer);
  assert.ok(answer.sent < endless);
  const session = connectHttp2(front.url, { ca: front.ca });
  const stream = session.request({ ":method": "POST", ":path": configMaps, "content-type": "application/json" });
  stream.on("error", () => undefined); // it is cut off while it writes
  const piece = Buffer.alloc(MIB, " ");
  const push = () => {
    while (!stream.closed && stream.write(piece));
  };
  push();
  stream.on("drain", push);
  const [head] = await once(stream, "response");
  assert.equal(head[":status"], 413);
  await once(stream, "aborted");
  session.destroy();
});

test("a compressed body is not unpacked", async () => {
  await using front = await startFront();
  const bomb = gzipSync(Buffer.alloc(64 * MIB, " "));
  const session = connectHttp2(front.url, { ca: front.ca });
  const headers = {
    ":method": "POST",
    ":path": configMaps,
    "content-type": "application/json",
    "content-encoding": "gzip",
  };
  const stream = session.request(headers);
  stream.end(bomb);
  const [head] = await once(stream, "response");
  assert.equal(head[":status"], 400);
  session.destroy();
});

async function tls({ port, ca }: Front, protocol: "http/1.1" | "h2" = "http/1.1"): Promise<TLSSocket> {
  const socket = connectTls({ port, host: "127.0.0.1", ca, ALPNProtocols: [protocol] });
  socket.on("error", () => undefined); // being cut off is what these tests are about
  await once(socket, "secureConnect");
  return socket;
}

/** All that comes until the connection is closed. */
async function rest(socket: TLSSocket): Promise<string> {
  let text = "";
  socket.setEncoding("utf8").on("data", (part) => {
    text += part;
  });
  await closed(socket);
  return text;
}

/** Sends the pieces one after another with pauses, until all are sent or the connection is closed. */
async function drip(socket: TLSSocket, pieces: Iterable<string>, pauseMs: number): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    socket.write(piece);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

test("a connection without a handshake is closed", async () => {
  await using front = await startFront({ handshakeMs: 2000 });
  const silent = connectTcp(front.port, "127.0.0.1");
  silent.on("error", () => undefined); // reset or closed, either will do
  await once(silent, "connect");
  assert.equal((await ask(front)).code, 200);
  silent.resume();
  await closed(silent);
});

test("what is not TLS at all is closed, and who speaks plain HTTP is told", async () => {
  await using front = await startFront();
  for (const [sent, answer] of [
    [
      "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
      /^HTTP\/1\.0 400 .*\r\n\r\nClient sent an HTTP request to an HTTPS server\.\n$/,
    ],
    ["SSH-2.0-client\r\n", /^(?!HTTP)/],
  ] as const) {
    const plain = connectTcp(front.port, "127.0.0.1");
    plain.on("error", () => undefined); // as above
    let text = "";
    plain.setEncoding("latin1").on("data", (part) => {
      text += part;
    });
    plain.write(sent);
    await closed(plain);
    assert.match(text, answer);
  }
  assert.equal((await ask(front)).code, 200);
});

test("headers that come one at a time are waited for in vain", async () => {
  await using front = await startFront({ headersMs: 1000 });
  const slow = await tls(front);
  const answer = rest(slow);
  const endless = (function* () {
    yield "GET /version HTTP/1.1\r\n";
    for (let i = 0; ; i++) yield `X-${i}: a\r\n`;
  })();
  const [text] = await Promise.all([answer, drip(slow, endless, 20)]);
  assert.match(text, /^HTTP\/1\.1 408 /);
  assert.equal((await ask(front)).code, 200);
});

test("a client that connects and says nothing is let go, by either protocol", async () => {
  await using front = await startFront({ headersMs: 1000, idleMs: 1000 });
  const [silent1, silent2] = [await tls(front), await tls(front, "h2")];
  await Promise.all([rest(silent1), rest(silent2)]);
  const session = connectHttp2(front.url, { ca: front.ca });
  assert.equal((await askOn(session, "/version")).code, 200);
  await once(session, "close");
});

test("a connection that was used and then forgotten is closed", async () => {
  await using front = await startFront({ idleMs: 1000 });
  const idle = await tls(front);
  idle.write("GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
  assert.match(await rest(idle), /^HTTP\/1\.1 200 /);
});

test("a body that comes byte by byte is refused in time, and its connection closed", async () => {
  await using front = await startFront({ bodyMs: 300 });
  const slow = await tls(front);
  const answer = rest(slow);
  const endless = (function* () {
    yield `POST ${configMaps} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n`;
    for (;;) yield " ";
  })();
  const [text] = await Promise.all([answer, drip(slow, endless, 20)]);
  assert.match(text, /^HTTP\/1\.1 504 .*"reason":"Timeout"/s);

  const session = connectHttp2(front.url, { ca: front.ca });
  const stream = session.request({ ":method": "POST", ":path": configMaps, "content-type": "application/json" });
  stream.on("error", () => undefined); // it is cut off while it writes
  stream.write("{");
  const [head] = await once(stream, "response");
  assert.equal(head[":status"], 504);
  await once(stream.resume(), "end");
  assert.equal((await askOn(session, "/version")).code, 200, "other streams of the connection go on");
  session.destroy();
});

test("headers that are too large are refused", async () => {
  await using front = await startFront();
  for (const headers of [
    `X: ${"a".repeat(100_000)}\r\n`,
    Array.from({ length: 10_000 }, (_, i) => `X-${i}: a\r\n`).join(""),
  ]) {
    const socket = await tls(front);
    socket.write(`GET /version HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    assert.match(await rest(socket), /^(HTTP\/1\.1 431 |$)/, "refused, or closed while it still writes");
  }
  for (const headers of [
    { x: "a".repeat(100_000) },
    Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x-${i}`, "a"])),
  ]) {
    const session = connectHttp2(front.url, { ca: front.ca });
    session.on("error", () => undefined); // refused as a whole, that is fine, too
    const stream = session.request({ ":path": "/version", ...headers });
    await assert.rejects(once(stream, "response"));
    session.destroy();
  }
  assert.equal(front.requests(), 0);
  assert.equal((await ask(front)).code, 200);
});

test("connections beyond the limit are dropped, and those there are go on", async () => {
  await using front = await startFront({ connections: 10 });
  const from = (localAddress: string) => connectTcp({ port: front.port, host: "127.0.0.1", localAddress });
  const open = await Promise.all(Array.from({ length: 5 }, () => tls(front))); // as many as one address may have
  const others = Array.from({ length: 5 }, () => from("127.0.0.2"));
  await Promise.all(others.map((socket) => once(socket, "connect")));
  const excess = from("127.0.0.3");
  excess.on("error", () => undefined); // reset or closed, either will do
  await closed(excess.resume());
  const [first] = open as [TLSSocket];
  first.write("GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  assert.match(await rest(first), /^HTTP\/1\.1 200 /);
  assert.equal((await ask(front)).code, 200, "a place that was left is free");
  for (const socket of [...open, ...others]) socket.destroy();
});
