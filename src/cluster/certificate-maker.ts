// Makes certificates. The only file that knows x509.
import "reflect-metadata"; // x509 finds its parts with it
import { createPublicKey } from "node:crypto";
import * as x509 from "@peculiar/x509";
import type { CertificateRequest, KeyPair } from "./certificates.ts";

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

export async function makeAuthority(validity: Validity): Promise<KeyPair> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=knarr-ca",
    keys,
    signingAlgorithm: algorithm,
    ...validity,
    serialNumber: serialNumber(),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: cert.toString("pem"), key: await exportKey(keys.privateKey) };
}

/** For the key that is given, else for a new one. */
export async function makeCertificate(
  authority: KeyPair,
  { commonName, organizations = [], hosts = [] }: CertificateRequest,
  validity: Validity,
  key?: string,
): Promise<KeyPair> {
  const issuer = new x509.X509Certificate(authority.cert);
  const own = key === undefined ? await newKey() : { key, publicKey: await publicKeyOf(key) };
  const isServer = hosts.length > 0;
  const cert = await x509.X509CertificateGenerator.create({
    subject: new x509.Name([...organizations.map((O) => ({ O: [O] })), { CN: [commonName] }]).toString(),
    issuer: issuer.subject,
    signingKey: await importKey(authority.key),
    publicKey: own.publicKey,
    signingAlgorithm: algorithm,
    ...validity,
    serialNumber: serialNumber(),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        isServer ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth,
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...(isServer ? [new x509.SubjectAlternativeNameExtension(hosts.map(generalName))] : []),
    ],
  });
  return { cert: cert.toString("pem"), key: own.key };
}

async function newKey() {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  return { key: await exportKey(privateKey), publicKey };
}

const publicKeyOf = (pem: string): Promise<CryptoKey> =>
  crypto.subtle.importKey("spki", createPublicKey(pem).export({ type: "spki", format: "der" }), algorithm, true, [
    "verify",
  ]);

const generalName = (host: string): x509.JsonGeneralName => ({
  type: /^[\d.]+$|:/.test(host) ? "ip" : "dns",
  value: host,
});

function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01; // positive, and without a leading zero
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const exportKey = async (key: CryptoKey): Promise<string> =>
  x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY");

const importKey = (pem: string): Promise<CryptoKey> =>
  crypto.subtle.importKey("pkcs8", x509.PemConverter.decodeFirst(pem), algorithm, false, ["sign"]);
