// The cluster's own certificates: an authority made once, and what it signs. Keys are readable by their owner alone.
import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import type { Validity } from "./certificate-encoding.ts";
import { makeAuthority, makeCertificate } from "./certificate-maker.ts";

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

const dayMs = 24 * 60 * 60 * 1000;
const authorityDays = 10 * 365;
const certificateDays = 365;
/** Certificates that end within this time are made anew at start. */
const renewalDays = 60;

/**
 * The certificates in one folder. What is missing is made; what is about to end, or is of another authority, is made anew for the
 * key that is there. The authority, once made, stays.
 */
export class Certificates {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #authorityName: string;

  constructor(folder: string, clock: Clock, authorityName = "knarr-ca") {
    this.#folder = folder;
    this.#clock = clock;
    this.#authorityName = authorityName;
  }

  /** The authority, made at the first call. */
  authority(): KeyPair {
    return this.#read("ca") ?? this.#write("ca", makeAuthority(this.#validity(authorityDays), this.#authorityName));
  }

  /** A certificate signed by the authority, kept under `name` until it nears its end or other hosts are wanted. */
  issue(name: string, request: CertificateRequest): KeyPair {
    const authority = this.authority();
    const present = this.#read(name);
    if (present && this.#isGood(present.cert, authority, request)) return present;
    return this.#write(name, makeCertificate(authority, request, this.#validity(certificateDays), present?.key));
  }

  #isGood(
    pem: string,
    authority: KeyPair,
    { commonName, organizations = [], hosts = [] }: CertificateRequest,
  ): boolean {
    const certificate = new X509Certificate(pem);
    const { subject, validTo, subjectAltName = "" } = certificate;
    if (Date.parse(validTo) - this.#clock.now() < renewalDays * dayMs) return false;
    if (!certificate.verify(new X509Certificate(authority.cert).publicKey)) return false;
    const wanted = [...organizations.map((name) => `O=${name}`), `CN=${commonName}`];
    if (subject.split("\n").toSorted().join() !== wanted.toSorted().join()) return false;
    const names = subjectAltName.split(", ").map((name) => name.replace(/^(DNS|IP Address):/, ""));
    return hosts.every((host) => names.includes(host));
  }

  #validity(days: number): Validity {
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
    makeFolder(this.#folder);
    writeFileSync(join(this.#folder, `${name}.key`), pair.key, { mode: 0o600 });
    writeFileSync(join(this.#folder, `${name}.crt`), pair.cert);
    return pair;
  }
}
