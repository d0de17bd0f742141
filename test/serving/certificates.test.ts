// The front with several certificates of its own, and several authorities of its clients, over real connections.
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { connect, type PeerCertificate } from "node:tls";
import { silentLog } from "#base/log.ts";
import { makeAuthority, makeCertificate } from "#cluster/certificate-maker.ts";
import type { KeyPair } from "#cluster/certificates.ts";
import { type HttpsOptions, httpsFront } from "#serving/host/https/front.ts";
import type { HttpHandler } from "#wire/http.ts";

const dayMs = 24 * 60 * 60 * 1000;
const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };
const [servers, users, proxies, strangers] = Array.from({ length: 4 }, () => makeAuthority(validity)) as [
  KeyPair,
  KeyPair,
  KeyPair,
  KeyPair,
];
const serving = (host: string) => makeCertificate(servers, { commonName: host, hosts: [host] }, validity);
const client = (authority: KeyPair, commonName: string) => makeCertificate(authority, { commonName }, validity);

/** Says of each request what the front knows of its client. */
const tellClient: HttpHandler = async ({ clientCertificate, otherCertificate, hasUntrustedCertificate }) => ({
  code: 200,
  body: JSON.stringify({
    user: clientCertificate && nameIn(clientCertificate),
    other: otherCertificate && `${otherCertificate.authority}: ${nameIn(otherCertificate.bytes)}`,
    untrusted: hasUntrustedCertificate,
  }),
});
const nameIn = (der: Uint8Array) => new X509Certificate(der).subject;

async function open(t: TestContext, options: Partial<HttpsOptions>): Promise<number> {
  const usual = { ...serving("usual.example"), clientCa: undefined, log: silentLog, handler: tellClient };
  const front = httpsFront({ ...usual, ...options });
  t.after(() => front.close(1000));
  return front.listen(0, "127.0.0.1");
}

/** Whose certificate a client is shown that asks for a name, or for none. */
const shownTo = (port: number, servername: string | undefined): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({
      port,
      host: "127.0.0.1",
      ca: servers.cert,
      ...(servername !== undefined && { servername }),
      checkServerIdentity: () => undefined,
    });
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      const { subject }: PeerCertificate = socket.getPeerCertificate();
      resolve(String(subject.CN));
      socket.destroy();
    });
  });

test("a client is shown the certificate for the name that it asks for, and the usual one otherwise", async (t) => {
  const certificates = new Map(["a.example", "b.example"].map((name) => [name, serving(name)]));
  const port = await open(t, { certificateFor: (name) => certificates.get(name) });
  for (const [asked, shown] of [
    ["a.example", "a.example"],
    ["b.example", "b.example"],
    ["B.Example", "b.example"],
    ["a.example", "a.example"],
    ["c.example", "usual.example"],
    [undefined, "usual.example"],
  ] as const)
    assert.equal(await shownTo(port, asked), shown, asked);
});

test("a certificate can be replaced while the front serves", async (t) => {
  let present = serving("first.example");
  const port = await open(t, { certificateFor: () => present });
  assert.equal(await shownTo(port, "x.example"), "first.example");
  present = serving("second.example");
  assert.equal(await shownTo(port, "x.example"), "second.example");
});

test("a certificate that cannot be used fails those who ask for it, and nobody else", async (t) => {
  const port = await open(t, {
    certificateFor: (name) => (name === "bad.example" ? { cert: "no certificate", key: "no key" } : undefined),
  });
  await assert.rejects(shownTo(port, "bad.example"));
  assert.equal(await shownTo(port, "good.example"), "usual.example");
});

/** What the front says of a client, by both protocols. */
async function tell(port: number, servername: string, shown: Partial<KeyPair>) {
  const tls = { ca: servers.cert, servername, checkServerIdentity: () => undefined, ...shown };
  const http1 = new Promise<string>((resolve, reject) => {
    const outgoing = request({ port, host: "127.0.0.1", agent: false, ...tls }, (response) => resolve(text(response)));
    outgoing.once("error", reject).end();
  });
  const session = connectHttp2(`https://127.0.0.1:${port}`, tls);
  const http2 = text(session.request({ ":path": "/" })).finally(() => session.destroy());
  const [first, second] = await Promise.all([http1, http2]);
  assert.equal(first, second);
  return JSON.parse(first);
}

const frontProxy = "front-proxy";

test("of several client authorities, a request says which one vouches for its client", async (t) => {
  const port = await open(t, { clientCa: users.cert, otherClientCas: { [frontProxy]: proxies.cert } });
  const isTold = async (shown: Partial<KeyPair>, told: object) =>
    assert.deepEqual(await tell(port, "usual.example", shown), told);
  await isTold({}, { untrusted: false });
  await isTold(client(users, "ann"), { user: "CN=ann", untrusted: false });
  await isTold(client(proxies, "aggregator"), { other: `${frontProxy}: CN=aggregator`, untrusted: false });
  await isTold(client(strangers, "eve"), { untrusted: true });
});

test("a client cannot choose its authority by the certificates that it sends along", async (t) => {
  // All authorities of this test have the same name, so that only signatures tell them apart.
  const port = await open(t, { clientCa: users.cert, otherClientCas: { [frontProxy]: proxies.cert } });
  const ann = client(users, "ann");
  for (const extra of [proxies, strangers]) {
    const shown = { cert: `${ann.cert}\n${extra.cert}`, key: ann.key };
    assert.deepEqual(await tell(port, "usual.example", shown), { user: "CN=ann", untrusted: false });
  }
});

test("an authority for both purposes vouches for both", async (t) => {
  const both = `${users.cert}\n${proxies.cert}`;
  const port = await open(t, { clientCa: both, otherClientCas: { [frontProxy]: proxies.cert } });
  const aggregator = client(proxies, "aggregator");
  assert.deepEqual(await tell(port, "usual.example", aggregator), {
    user: "CN=aggregator",
    other: `${frontProxy}: CN=aggregator`,
    untrusted: false,
  });
});

test("clients are known whichever name they ask for", async (t) => {
  const named = serving("a.example");
  const port = await open(t, {
    clientCa: users.cert,
    certificateFor: (name) => (name === "a.example" ? named : undefined),
  });
  for (const name of ["a.example", "b.example"])
    assert.deepEqual(await tell(port, name, client(users, "ann")), { user: "CN=ann", untrusted: false });
});
