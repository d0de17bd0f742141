// The cluster's own certificates: an authority made once, and what it signs. Keys are readable by their owner alone.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import "reflect-metadata"; // x509 finds its parts with it
import * as x509 from "@peculiar/x509";
import type { Clock } from "#base/clock.ts";

export interface KeyPair {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  /** Groups, for a client. */
  readonly organizations?: readonly string[];
  /** Names and addresses a server is reached by. */
  readonly hosts?: readonly string[];
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const dayMs = 24 * 60 * 60 * 1000;
const authorityDays = 10 * 365;
const certificateDays = 365;
/** Certificates that end within this time are made anew at start. */
const renewalDays = 60;

/** The certificates in one folder. What is missing or about to end is made; the authority, once made, stays. */
export class Certificates {
  readonly #folder: string;
  readonly #clock: Clock;

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** The authority, made at the first call. */
  async authority(): Promise<KeyPair> {
    const present = this.#read("ca");
    if (present) return present;
    const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const cert = await x509.X509CertificateGenerator.createSelfSigned({
      name: "CN=knarr-ca",
      keys,
      signingAlgorithm: algorithm,
      ...this.#validity(authorityDays),
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
    return this.#write("ca", { cert: cert.toString("pem"), key: await exportKey(keys.privateKey) });
  }

  /** A certificate signed by the authority, kept under `name` until it nears its end or other hosts are wanted. */
  async issue(name: string, request: CertificateRequest): Promise<KeyPair> {
    const present = this.#read(name);
    if (present && this.#isGood(present.cert, request)) return present;
    const authority = await this.authority();
    const issuer = new x509.X509Certificate(authority.cert);
    const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const isServer = (request.hosts ?? []).length > 0;
    const cert = await x509.X509CertificateGenerator.create({
      subject: new x509.Name([
        ...(request.organizations ?? []).map((O) => ({ O: [O] })),
        { CN: [request.commonName] },
      ]).toString(),
      issuer: issuer.subject,
      signingKey: await importKey(authority.key),
      publicKey: keys.publicKey,
      signingAlgorithm: algorithm,
      ...this.#validity(certificateDays),
      serialNumber: serialNumber(),
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([
          isServer ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth,
        ]),
        await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
        ...(isServer ? [new x509.SubjectAlternativeNameExtension((request.hosts ?? []).map(generalName))] : []),
      ],
    });
    return this.#write(name, { cert: cert.toString("pem"), key: await exportKey(keys.privateKey) });
  }

  #isGood(pem: string, { hosts = [] }: CertificateRequest): boolean {
    const cert = new x509.X509Certificate(pem);
    if (cert.notAfter.getTime() - this.#clock.now() < renewalDays * dayMs) return false;
    const names = cert.getExtension(x509.SubjectAlternativeNameExtension)?.names.items.map(({ value }) => value) ?? [];
    return hosts.every((host) => names.includes(host));
  }

  #validity(days: number) {
    const now = this.#clock.now();
    // An hour back, for clients whose clocks are a little behind.
    return { notBefore: new Date(now - 60 * 60 * 1000), notAfter: new Date(now + days * dayMs) };
  }

  #read(name: string): KeyPair | undefined {
    const [cert, key] = [join(this.#folder, `${name}.crt`), join(this.#folder, `${name}.key`)];
    if (!existsSync(cert) || !existsSync(key)) return undefined;
    return { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
  }

  #write(name: string, pair: KeyPair): KeyPair {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.#folder, `${name}.key`), pair.key, { mode: 0o600 });
    writeFileSync(join(this.#folder, `${name}.crt`), pair.cert);
    return pair;
  }
}

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
