import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ManualClock, systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { CertificateFolder } from "./certificate-folder.ts";
import { controlPlaneCertificates } from "./control-plane-certificates.ts";
import { admin } from "./identities.ts";
import { LiveCertificates } from "./live-certificates.ts";

const dayMs = 24 * 60 * 60 * 1000;

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "knarr-certificates-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const made = (folder: string, clock: ManualClock) =>
  controlPlaneCertificates(folder, { clock, serviceRange: "10.96.0.0/16", addresses: [], admin });

test("every certificate of ours is renewed 60 days before it ends, while it is in use, for the same key", async (t) => {
  const folder = folderOf(t);
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const live = new LiveCertificates({ read: () => made(folder, clock), clock, log: silentLog });
  const told: string[] = [];
  live.subscribe((now) => told.push(new X509Certificate(now.server.cert).validTo));
  const before = live.current;
  await clock.advance(304 * dayMs);
  live.refresh();
  assert.deepEqual(told, []);
  await clock.advance(2 * dayMs);
  const stop = new AbortController();
  const running = live.run(stop.signal);
  await clock.advance(60_000);
  assert.equal(told.length, 1, "all at once, and once");
  const after = live.current;
  const pairs = (now: typeof before) => [now.server, now.frontProxy.client, ...Object.values(now.clients)];
  for (const [i, pair] of pairs(after).entries()) {
    assert.equal(pair.key, pairs(before)[i]?.key);
    assert.ok(Date.parse(new X509Certificate(pair.cert).validTo) - clock.now() > 364 * dayMs);
  }
  assert.deepEqual(after.authority, before.authority);
  for (const { state } of new CertificateFolder(folder, clock).reports()) assert.equal(state, "good");
  stop.abort();
  await running;
});

test("a file that changes is read at once", async (t) => {
  const file = join(folderOf(t), "x.crt");
  writeFileSync(file, "one");
  const { readFileSync } = await import("node:fs");
  const live = new LiveCertificates({
    read: () => readFileSync(file, "utf8"),
    files: [file],
    clock: systemClock,
    log: silentLog,
  });
  const changed = new Promise<string>((resolve) => live.subscribe(resolve));
  const stop = new AbortController();
  const running = live.run(stop.signal);
  writeFileSync(file, "two");
  assert.equal(await changed, "two");
  stop.abort();
  await running;
});

test("what cannot be read is told once, and what was there before counts", () => {
  const errors: string[] = [];
  let text: string | undefined = "one";
  const live = new LiveCertificates({
    read() {
      if (text === undefined) throw new Error("half a file");
      return text;
    },
    clock: new ManualClock(),
    log: { ...silentLog, error: (message) => void errors.push(message) },
  });
  text = undefined;
  live.refresh();
  live.refresh();
  assert.deepEqual([live.current, errors.length], ["one", 1]);
  text = "two";
  live.refresh();
  assert.equal(live.current, "two");
});

test("a folder tells of its certificates, and makes those anew that are named", async (t) => {
  const folder = folderOf(t);
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const before = made(folder, clock);
  const certificates = new CertificateFolder(folder, clock);
  const states = () => Object.fromEntries(certificates.reports().map(({ name, state }) => [name, state]));
  assert.deepEqual(Object.keys(states()), [
    "ca",
    "admin",
    "apiserver",
    "controller-manager",
    "scheduler",
    "front-proxy/ca",
    "front-proxy/client",
  ]);
  await clock.advance(330 * dayMs);
  assert.equal(states().admin, "due");
  assert.equal(states().ca, "good");
  assert.deepEqual(certificates.renew(["apiserver", "front-proxy/client"]), ["apiserver", "front-proxy/client"]);
  assert.deepEqual([states().apiserver, states()["front-proxy/client"], states().admin], ["good", "good", "due"]);
  await clock.advance(40 * dayMs);
  assert.equal(states().admin, "ended");
  assert.throws(() => certificates.renew(["ca"]), /ca is an authority/);
  assert.throws(() => certificates.renew(["nobody"]), /there is no certificate "nobody"; there are admin, apiserver/);

  const again = new X509Certificate(made(folder, clock).server.cert);
  const first = new X509Certificate(before.server.cert);
  assert.equal(again.subjectAltName, first.subjectAltName);
  assert.equal(again.subject, first.subject);
});
