// A front whose certificate and authorities are replaced while it serves, over real connections.
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { silentLog } from "#base/log.ts";
import { makeAuthority, makeCertificate } from "#cluster/certificate-maker.ts";
import type { KeyPair } from "#cluster/certificates.ts";
import { type HttpsFront, type HttpsOptions, httpsFront } from "#serving/host/https/front.ts";
import type { HttpHandler } from "#wire/http.ts";

const dayMs = 24 * 60 * 60 * 1000;
const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };
const servers = makeAuthority(validity, "servers");
const before = makeAuthority(validity, "before");
const after = makeAuthority(validity, "after");
const serving = (commonName: string) => makeCertificate(servers, { commonName, hosts: ["localhost"] }, validity);
const client = (authority: KeyPair, commonName: string) => makeCertificate(authority, { commonName }, validity);

const whoIs: HttpHandler = async ({ clientCertificate, hasUntrustedCertificate }) => ({
  code: 200,
  body: clientCertificate
    ? new X509Certificate(clientCertificate).subject
    : hasUntrustedCertificate
      ? "not trusted"
      : "unknown",
});

async function open(t: TestContext, options: Partial<HttpsOptions> = {}) {
  const usual = { ...serving("first"), clientCa: before.cert, log: silentLog, handler: whoIs };
  const front: HttpsFront = httpsFront({ ...usual, ...options });
  t.after(() => front.close(100));
  return { front, port: await front.listen(0, "127.0.0.1") };
}

function session(t: TestContext, port: number, pair: KeyPair): ClientHttp2Session {
  const made = connectHttp2(`https://localhost:${port}`, { ca: servers.cert, ...pair });
  t.after(() => made.destroy());
  return made;
}
const ask = (over: ClientHttp2Session): Promise<string> => text(over.request({ ":path": "/" }));

test("a new certificate is shown to those who connect, and who is connected stays so", async (t) => {
  const { front, port } = await open(t);
  const first = session(t, port, client(before, "jane"));
  assert.equal(await ask(first), "CN=jane");
  front.renew({ ...serving("second"), clientCa: before.cert });
  assert.equal(await ask(first), "CN=jane");
  const second = session(t, port, client(before, "jane"));
  assert.equal(await ask(second), "CN=jane");
  assert.equal((second.socket as TLSSocket).getPeerCertificate().subject.CN, "second");
});

test("clients of an authority that was taken away are refused at once, also over connections that they have", async (t) => {
  const { front, port } = await open(t);
  const jane = session(t, port, client(before, "jane"));
  assert.equal(await ask(jane), "CN=jane");
  front.renew({ ...serving("first"), clientCa: after.cert });
  assert.equal(await ask(jane), "not trusted");
  assert.equal(await ask(session(t, port, client(before, "jane"))), "not trusted");
  assert.equal(await ask(session(t, port, client(after, "jack"))), "CN=jack");
  front.renew({ ...serving("first"), clientCa: `${after.cert}${before.cert}` });
  assert.equal(await ask(jane), "CN=jane");
});

test("a TLS session of before does not let a client in whose authority was taken away", async (t) => {
  const { front, port } = await open(t);
  const request = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
  const once = async (options: ConnectionOptions) => {
    const socket = connect({ port, host: "localhost", ca: servers.cert, ...client(before, "jane"), ...options });
    const ticket = new Promise<Buffer>((resolve) => socket.once("session", resolve));
    const isResumed = new Promise<boolean>((resolve) =>
      socket.once("secureConnect", () => resolve(socket.isSessionReused())),
    );
    socket.write(request);
    const answer = await text(socket);
    return { answer, ticket, isResumed: await isResumed };
  };
  const { answer, ticket } = await once({});
  assert.match(answer, /CN=jane/);
  const resumed = { session: await ticket };
  assert.equal((await once(resumed)).isResumed, true, "tickets are good as long as nothing changes");
  front.renew({ ...serving("first"), clientCa: after.cert });
  const later = await once(resumed);
  assert.equal(later.isResumed, false);
  assert.match(later.answer, /not trusted/);
});

test("certificates for names know the new authorities, too", async (t) => {
  const named = serving("named");
  const { front, port } = await open(t, { certificateFor: (name) => (name === "localhost" ? named : undefined) });
  assert.equal(await ask(session(t, port, client(before, "jane"))), "CN=jane");
  front.renew({ ...serving("first"), clientCa: after.cert });
  assert.equal(await ask(session(t, port, client(after, "jack"))), "CN=jack");
});

test("a certificate that cannot be used changes nothing", async (t) => {
  const { front, port } = await open(t);
  const wrong = { cert: serving("second").cert, key: serving("third").key };
  assert.throws(() => front.renew({ ...wrong, clientCa: after.cert }), /key values mismatch/);
  assert.equal(await ask(session(t, port, client(before, "jane"))), "CN=jane");
});

test("a front that sends clients away does so after it has answered", async (t) => {
  let isAway = false;
  const { port } = await open(t, { sendsAway: () => isAway });
  const over = session(t, port, client(before, "jane"));
  assert.equal(await ask(over), "CN=jane");
  isAway = true;
  const goaway = new Promise<number>((resolve) => over.once("goaway", resolve));
  assert.equal(await ask(over), "CN=jane");
  assert.equal(await goaway, 0, "without an error");
});
