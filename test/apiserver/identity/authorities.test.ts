// The files of an API server's authorities and of its certificate are read again when they change.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { systemClock } from "#base/clock.ts";
import { makeAuthority, makeCertificate } from "#cluster/certificate-maker.ts";
import type { KeyPair } from "#cluster/certificates.ts";
import { ServerProcess } from "../harness.ts";

const dayMs = 24 * 60 * 60 * 1000;
const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };
const { signal } = new AbortController();

const replace = (file: string, content: string) => {
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
};

function session(t: TestContext, url: string, pair: KeyPair): ClientHttp2Session {
  const made = connect(url, { rejectUnauthorized: false, ...pair });
  // What goes wrong amid a request, the request tells; the server ends before its clients do.
  made.on("error", () => undefined);
  t.after(() => made.destroy());
  return made;
}

/** Whom the server takes the client for, or why it does not. */
async function whoami(over: ClientHttp2Session, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const stream = over.request({
    ":method": "POST",
    ":path": "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    "content-type": "application/json",
    ...headers,
  });
  stream.end(JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }));
  const answer = JSON.parse(await text(stream)) as { message?: string; status: { userInfo?: { username: string } } };
  return answer.status.userInfo?.username ?? answer.message ?? "";
}

/** Whose certificate a client is shown that asks for a name. */
async function shownFor(url: string, servername: string): Promise<string | undefined> {
  const socket = connectTls({
    host: "127.0.0.1",
    port: Number(new URL(url).port),
    servername,
    rejectUnauthorized: false,
  });
  try {
    await once(socket, "secureConnect");
    const { CN } = socket.getPeerCertificate().subject;
    return CN === undefined ? undefined : String(CN);
  } finally {
    socket.destroy();
  }
}

test("authorities and certificates that are replaced on disk count without a restart, for all connections", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-authorities-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [clients, proxies, cert, key, namedCert, namedKey] = [
    ...["clients.crt", "proxies.crt", "tls.crt", "tls.key", "named.crt", "named.key"],
  ].map((name) => join(folder, name)) as [string, string, string, string, string, string];
  const [before, after, proxyBefore, proxyAfter] = ["a", "b", "c", "d"].map((name) =>
    makeAuthority(validity, name),
  ) as [KeyPair, KeyPair, KeyPair, KeyPair];
  const serving = (name: string) => makeCertificate(before, { commonName: name, hosts: ["127.0.0.1"] }, validity);
  const first = serving("first");
  writeFileSync(clients, before.cert);
  writeFileSync(proxies, proxyBefore.cert);
  writeFileSync(cert, first.cert);
  writeFileSync(key, first.key);
  const named = serving("named");
  writeFileSync(namedCert, named.cert);
  writeFileSync(namedKey, named.key);
  await using server = await ServerProcess.start({
    flags: [
      `--client-ca-file=${clients}`,
      `--requestheader-client-ca-file=${proxies}`,
      "--requestheader-username-headers=X-Remote-User",
      `--tls-cert-file=${cert}`,
      `--tls-private-key-file=${key}`,
      `--tls-sni-cert-key=${namedCert},${namedKey}:*.named.example`,
    ],
  });
  const user = (authority: KeyPair, commonName: string) => makeCertificate(authority, { commonName }, validity);
  const jane = session(t, server.url, user(before, "jane"));
  const proxy = session(t, server.url, user(proxyBefore, "proxy"));
  const forUser = { "x-remote-user": "remote" };
  assert.equal(await whoami(jane), "jane");
  assert.equal(await whoami(proxy, forUser), "remote");
  assert.equal(await whoami(session(t, server.url, user(after, "jack"))), "Unauthorized");

  assert.equal(await shownFor(server.url, "a.named.example"), "named");
  assert.equal(await shownFor(server.url, "named.example"), "first");

  const second = serving("second");
  const namedAnew = serving("named anew");
  replace(namedKey, namedAnew.key);
  replace(namedCert, namedAnew.cert);
  replace(key, second.key);
  replace(cert, second.cert);
  replace(proxies, proxyAfter.cert);
  replace(clients, after.cert); // last: once it counts, so do the others
  while ((await whoami(jane)) === "jane") await systemClock.sleep(50, signal);
  assert.equal(await whoami(jane), "Unauthorized");
  assert.equal(await whoami(proxy, forUser), "Unauthorized");
  const jack = session(t, server.url, user(after, "jack"));
  assert.equal(await whoami(jack), "jack");
  assert.equal((jack.socket as TLSSocket).getPeerCertificate().subject.CN, "second");
  assert.equal(await shownFor(server.url, "a.named.example"), "named anew");
  assert.equal(await whoami(session(t, server.url, user(proxyAfter, "proxy")), forUser), "remote");

  // What cannot be used changes nothing.
  replace(clients, "no certificate");
  replace(key, "no key");
  assert.equal(await whoami(session(t, server.url, user(after, "jack"))), "jack");
});
