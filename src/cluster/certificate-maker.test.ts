import "reflect-metadata"; // x509 finds its parts with it
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { test } from "node:test";
import * as x509 from "@peculiar/x509";
import fc from "fast-check";
import { parseCsr } from "#api/certificates/v1/request.ts";
import { csrOf, generalNames } from "#api/certificates/v1/testing.ts";
import { makeAuthority, makeCertificate, signRequest } from "./certificate-maker.ts";

const rsaExponent = Uint8Array.of(1, 0, 1);

const validity = { notBefore: new Date("2026-01-01T00:00:00Z"), notAfter: new Date("2027-01-01T00:00:00Z") };
const authority = makeAuthority(validity);
const issuer = new x509.X509Certificate(authority.cert);

/** What another reader finds in a certificate. */
function contentOf(pem: string) {
  const certificate = new x509.X509Certificate(pem);
  const critical = (one: x509.Extension | null | undefined) => one?.critical;
  const basic = certificate.getExtension(x509.BasicConstraintsExtension);
  const usage = certificate.getExtension(x509.KeyUsagesExtension);
  return {
    subject: certificate.subject,
    issuer: certificate.issuer,
    notBefore: certificate.notBefore,
    notAfter: certificate.notAfter,
    isAuthority: basic?.ca,
    usages: usage?.usages,
    critical: [basic, usage].map(critical),
    extendedUsages: certificate.getExtension(x509.ExtendedKeyUsageExtension)?.usages.join(),
    hosts: certificate
      .getExtension(x509.SubjectAlternativeNameExtension)
      ?.names.items.map(({ type, value }) => [type, value]),
    keyId: certificate.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId,
    signerId: certificate.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId,
  };
}
const keyId = async (certificate: x509.X509Certificate) =>
  (await x509.SubjectKeyIdentifierExtension.create(certificate.publicKey)).keyId;

test("an authority may sign certificates, its own among them", async () => {
  const { digitalSignature, keyCertSign, cRLSign } = x509.KeyUsageFlags;
  assert.deepEqual(contentOf(authority.cert), {
    subject: "CN=knarr-ca",
    issuer: "CN=knarr-ca",
    ...validity,
    isAuthority: true,
    usages: digitalSignature | keyCertSign | cRLSign,
    critical: [true, true],
    extendedUsages: undefined,
    hosts: undefined,
    keyId: await keyId(issuer),
    signerId: undefined,
  });
  assert.ok(await issuer.verify());
  assert.ok(new X509Certificate(authority.cert).ca);
});

test("a client's certificate names its groups and itself", async () => {
  const { cert, key } = makeCertificate(authority, { commonName: "jane", organizations: ["dev", "ops"] }, validity);
  assert.deepEqual(contentOf(cert), {
    subject: "O=dev, O=ops, CN=jane",
    issuer: "CN=knarr-ca",
    ...validity,
    isAuthority: false,
    usages: x509.KeyUsageFlags.digitalSignature,
    critical: [true, true],
    extendedUsages: x509.ExtendedKeyUsage.clientAuth,
    hosts: undefined,
    keyId: undefined,
    signerId: await keyId(issuer),
  });
  assert.ok(new X509Certificate(cert).publicKey.equals(createPublicKey(key)));
  assert.ok(new X509Certificate(cert).checkIssued(new X509Certificate(authority.cert)));
});

test("a server's certificate names its hosts, and keeps the key that is there", () => {
  const { key } = makeCertificate(authority, { commonName: "front" }, validity);
  const hosts = ["localhost", "127.0.0.1", "::1", "fd00::a:0:b"];
  const made = makeCertificate(authority, { commonName: "front", hosts }, validity, key);
  assert.equal(made.key, key);
  const certificate = new X509Certificate(made.cert);
  assert.ok(certificate.publicKey.equals(createPublicKey(key)));
  assert.equal(certificate.checkHost("localhost"), "localhost");
  for (const ip of hosts.slice(1)) assert.equal(certificate.checkIP(ip), ip);
  assert.equal(contentOf(made.cert).extendedUsages, x509.ExtendedKeyUsage.serverAuth);
});

test("names, hosts and times of any kind are read as they were meant", async () => {
  const second = (date: Date) => new Date(Math.floor(date.getTime() / 1000) * 1000);
  const time = fc.date({ min: new Date("1970-01-01"), max: new Date("2200-01-01"), noInvalidDate: true }).map(second);
  const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 });
  const request = fc.record({ commonName: name, organizations: fc.array(name, { maxLength: 3 }) });
  const hosts = fc.uniqueArray(fc.oneof(fc.domain(), fc.ipV4()), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(request, hosts, time, time, async (who, names, notBefore, notAfter) => {
      const { cert } = makeCertificate(authority, { ...who, hosts: names }, { notBefore, notAfter });
      const read = new x509.X509Certificate(cert);
      assert.ok(await read.verify({ publicKey: issuer.publicKey, signatureOnly: true }));
      assert.deepEqual(read.subjectName.getField("CN"), [who.commonName]);
      assert.deepEqual(read.subjectName.getField("O"), who.organizations);
      const content = contentOf(cert);
      assert.deepEqual([content.notBefore, content.notAfter], [notBefore, notAfter]);
      assert.deepEqual(content.hosts?.map(([, value]) => value) ?? [], names);
    }),
  );
});

test("an authority of another maker signs under its own name", async () => {
  const algorithm = { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const other = await x509.X509CertificateGenerator.createSelfSigned({
    name: "C=IS, O=Example, CN=The Authority",
    keys,
    signingAlgorithm: algorithm,
    ...validity,
  });
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
  const { cert } = makeCertificate({ cert: other.toString("pem"), key }, { commonName: "jane" }, validity);
  assert.ok(new X509Certificate(cert).checkIssued(new X509Certificate(other.toString("pem"))));
  assert.ok(new X509Certificate(cert).verify(new X509Certificate(other.toString("pem")).publicKey));
});

for (const [name, algorithm] of Object.entries({
  "RSA of 2048 bits": { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: rsaExponent, hash: "SHA-256" },
  "P-521": { name: "ECDSA", namedCurve: "P-521", hash: "SHA-512" },
  Ed25519: { name: "Ed25519" },
}))
  test(`an authority of ${name} signs what OpenSSL and others verify`, async () => {
    const keys = (await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as CryptoKeyPair;
    const made = await x509.X509CertificateGenerator.createSelfSigned({
      name: "CN=Other",
      keys,
      signingAlgorithm: algorithm,
      ...validity,
      // An identifier that is not the hash of the key: what it signs has to repeat it.
      extensions: [new x509.SubjectKeyIdentifierExtension("0102030405"), new x509.BasicConstraintsExtension(true)],
    });
    const pem = made.toString("pem");
    const key = x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
    const { cert } = makeCertificate({ cert: pem, key }, { commonName: "jane" }, validity);
    assert.ok(new X509Certificate(cert).checkIssued(new X509Certificate(pem)));
    assert.ok(new X509Certificate(cert).verify(new X509Certificate(pem).publicKey));
    assert.ok(await new x509.X509Certificate(cert).verify({ publicKey: made.publicKey, signatureOnly: true }));
    assert.equal(contentOf(cert).signerId, "0102030405");
  });

test("an authority whose key is of another kind is refused", () => {
  const { privateKey } = generateKeyPairSync("dsa", { modulusLength: 1024, divisorLength: 160 });
  const key = String(privateKey.export({ type: "pkcs8", format: "pem" }));
  assert.throws(() => makeCertificate({ ...authority, key }, { commonName: "jane" }, validity), /of RSA.*not dsa/);
});

test("a request is signed for its names, its key and the usages that were asked for, and for nothing else", () => {
  const subject = { O: ["b", "a"], CN: ["first", "jane"], UID: ["42"] };
  const names = [
    generalNames.dns("a.example"),
    generalNames.ip(10, 0, 0, 1),
    generalNames.email("j@x.example"),
    generalNames.uri("spiffe://x/y"),
  ];
  const request = parseCsr(csrOf(subject, undefined, names));
  const usages = ["s/mime", "key encipherment", "client auth", "decipher only", "email protection"];
  const cert = signRequest(authority, request, { usages, ...validity });
  const { keyEncipherment, decipherOnly } = x509.KeyUsageFlags;
  assert.deepEqual(contentOf(cert), {
    subject: "O=a+O=b, CN=jane",
    issuer: "CN=knarr-ca",
    ...validity,
    isAuthority: false,
    usages: keyEncipherment | decipherOnly,
    critical: [true, true],
    extendedUsages: `${x509.ExtendedKeyUsage.clientAuth},${x509.ExtendedKeyUsage.emailProtection}`,
    hosts: [
      ["dns", "a.example"],
      ["email", "j@x.example"],
      ["ip", "10.0.0.1"],
      ["url", "spiffe://x/y"],
    ],
    keyId: undefined,
    signerId: contentOf(authority.cert).keyId,
  });
  const spki = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
  assert.deepEqual(spki, Buffer.from(request.key.whole));
  assert.throws(() => signRequest(authority, request, { usages: ["magic"], ...validity }), /unrecognized usage/);
});
