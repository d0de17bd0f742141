import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { Certificates } from "./certificates.ts";
import { kubeconfig } from "./kubeconfig.ts";

const dayMs = 24 * 60 * 60 * 1000;

async function inFolder(run: (folder: string, clock: ManualClock) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "knarr-certificates-"));
  try {
    await run(folder, new ManualClock("2026-01-01T00:00:00Z"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("a certificate is kept while it is good, and made anew for the same key when it nears its end", () =>
  inFolder(async (folder, clock) => {
    const request = { commonName: "system:node:n1", organizations: ["system:nodes"] };
    const first = new Certificates(folder, clock).issue("n1", request);
    await clock.advance(300 * dayMs);
    assert.deepEqual(new Certificates(folder, clock).issue("n1", request), first);
    await clock.advance(10 * dayMs);
    const second = new Certificates(folder, clock).issue("n1", request);
    assert.notEqual(second.cert, first.cert);
    assert.equal(second.key, first.key);
    const { validTo, subject } = new X509Certificate(second.cert);
    assert.equal(Date.parse(validTo), clock.now() + 365 * dayMs);
    assert.equal(subject, "O=system:nodes\nCN=system:node:n1");
  }));

test("a certificate for an address of IPv6 is kept, however the address is written", () =>
  inFolder(async (folder, clock) => {
    const issue = (...hosts: readonly string[]) =>
      new Certificates(folder, clock).issue("front", { commonName: "front", hosts });
    const first = issue("fd00:172:31::1", "node-1", "172.31.0.1");
    assert.deepEqual(issue("fd00:172:31:0:0::1", "node-1"), first);
    assert.notEqual(issue("fd00:172:31::2").cert, first.cert);
  }));

test("other hosts, another subject or another authority ask for another certificate", () =>
  inFolder(async (folder, clock) => {
    const certificates = new Certificates(folder, clock);
    const one = certificates.issue("front", { commonName: "front", hosts: ["localhost"] });
    assert.deepEqual(certificates.issue("front", { commonName: "front", hosts: ["localhost"] }), one);
    const two = certificates.issue("front", { commonName: "front", hosts: ["localhost", "127.0.0.1"] });
    assert.notEqual(two.cert, one.cert);
    const three = certificates.issue("front", { commonName: "back", hosts: ["localhost"] });
    assert.notEqual(three.cert, two.cert);
    for (const file of ["ca.crt", "ca.key"]) rmSync(join(folder, file));
    const four = certificates.issue("front", { commonName: "back", hosts: ["localhost"] });
    assert.notEqual(four.cert, three.cert);
    const authority = new X509Certificate(certificates.authority().cert);
    assert.ok(new X509Certificate(four.cert).verify(authority.publicKey));
  }));

test("keys are for their owner alone", () =>
  inFolder(async (folder, clock) => {
    new Certificates(folder, clock).issue("admin", { commonName: "admin" });
    const keys = readdirSync(folder).filter((file) => file.endsWith(".key"));
    assert.deepEqual(keys, ["admin.key", "ca.key"]);
    for (const key of keys) assert.equal(statSync(join(folder, key)).mode & 0o777, 0o600);
  }));

test("clients get keys of elliptic curves in the form that all of them read", () =>
  inFolder(async (folder, clock) => {
    const { cert, key } = new Certificates(folder, clock).issue("admin", { commonName: "admin" });
    const old = String(createPrivateKey(key).export({ type: "pkcs8", format: "pem" }));
    for (const one of [key, old]) {
      const config = JSON.parse(kubeconfig("c", "https://127.0.0.1", cert, { cert, key: one }));
      const written = Buffer.from(config.users[0].user["client-key-data"], "base64").toString();
      assert.match(written, /^-----BEGIN EC PRIVATE KEY-----\n/);
      assert.ok(new X509Certificate(cert).checkPrivateKey(createPrivateKey(written)));
    }
    const { privateKey: rsa } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const pem = String(rsa.export({ type: "pkcs8", format: "pem" }));
    const config = JSON.parse(kubeconfig("c", "https://127.0.0.1", cert, { cert, key: pem }));
    assert.equal(Buffer.from(config.users[0].user["client-key-data"], "base64").toString(), pem);
  }));
