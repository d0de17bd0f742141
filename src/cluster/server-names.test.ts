import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parseFlags } from "#cli/flags.ts";
import { makeAuthority, makeCertificate } from "./certificate-maker.ts";
import { certificateByName, namedCertificates, serverNameFlags } from "./server-names.ts";
import { servingCertificates } from "./serving-certificates.ts";

const dayMs = 24 * 60 * 60 * 1000;
const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };
const authority = makeAuthority(validity);

/** A folder with pairs of these names, each for the hosts that are given. */
function folderWith(t: TestContext, pairs: Readonly<Record<string, readonly string[]>>): string {
  const folder = mkdtempSync(join(tmpdir(), "knarr-names-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, hosts] of Object.entries(pairs)) {
    const { cert, key } = makeCertificate(authority, { commonName: name, hosts: [...hosts] }, validity);
    writeFileSync(join(folder, `${name}.crt`), cert);
    writeFileSync(join(folder, `${name}.key`), key);
  }
  return folder;
}

const settingsOf = (...values: readonly string[]) =>
  parseFlags(serverNameFlags, [...values.map((value) => `--tls-sni-cert-key=${value}`)]).flags;

test("a certificate is chosen by the name that a client asks for: given before found, written out before a star", (t) => {
  const folder = folderWith(t, {
    own: ["a.example", "*.wide.example", "127.0.0.1"],
    given: ["x.example"],
    other: ["a.example", "b.example"],
  });
  const pair = (name: string) => `${join(folder, name)}.crt,${join(folder, name)}.key`;
  const certificates = namedCertificates(
    settingsOf(pair("own"), pair("other"), `${pair("given")}:b.example,*.example,A.wide.example`),
  );
  const names = ["own", "other", "given"];
  const chosenFor = certificateByName(certificates);
  const chosen = (name: string) => {
    const certificate = chosenFor(name);
    return names[certificates.findIndex(({ cert }) => cert === certificate?.cert)];
  };
  for (const [asked, expected] of [
    ["a.example", "own"], // the first of those found in certificates
    ["b.example", "given"],
    ["c.example", "given"],
    ["x.example", "given"],
    ["a.wide.example", "given"],
    ["b.wide.example", "own"],
    ["b.c.wide.example", undefined],
    ["127.0.0.1", undefined],
    ["elsewhere", undefined],
  ] as const)
    assert.equal(chosen(asked), expected, asked);
});

test("what cannot be used as --tls-sni-cert-key is refused with its reason", (t) => {
  const folder = folderWith(t, { a: ["a.example"], b: ["b.example"] });
  const [a, b] = [join(folder, "a"), join(folder, "b")];
  for (const [value, why] of [
    [`${a}.crt`, /expected comma separated certificate and key file paths/],
    [`${a}.crt,${a}.key,${b}.key`, /expected comma separated/],
    [`${a}.crt,${b}.key`, /is not the key of the certificate/],
    [`${a}.crt,${a}.key:`, /names are missing after the colon/],
    [`${a}.none,${a}.key`, /--tls-sni-cert-key/],
  ] as const)
    assert.throws(() => namedCertificates(settingsOf(value)), why, value);
});

test("a pair that others have put into --cert-dir is served with, and nothing of ours is put beside it", (t) => {
  const folder = folderWith(t, { apiserver: ["127.0.0.1"], other: [] });
  const settings = {
    "tls-cert-file": undefined,
    "tls-private-key-file": undefined,
    "client-ca-file": undefined,
    "cert-dir": folder,
    "data-dir": undefined,
    "bind-address": "127.0.0.1",
    "service-cluster-ip-range": "10.96.0.0/16",
  };
  const { cert, clientCa, frontProxy } = servingCertificates(settings);
  assert.equal(cert, servingCertificates(settings).cert);
  assert.deepEqual([clientCa, frontProxy], [undefined, undefined]);
  const empty = folderWith(t, {});
  const own = servingCertificates({ ...settings, "cert-dir": empty });
  assert.notEqual(own.clientCa, undefined);
  assert.equal(servingCertificates({ ...settings, "cert-dir": empty }).cert, own.cert, "ours stays ours");
});
