// The cluster's own certificates: an authority made once, and what it signs. Keys are readable by their owner alone.
import { X509Certificate } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { derElement, derInside, derTag } from "#base/der.ts";
import { parseDistinguishedName } from "#base/distinguished-name.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import { formatIp, parseIp } from "#schema/ip.ts";
import { subjectOf, type Validity } from "./certificate-encoding.ts";
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
  /** Whether a server shows it to other servers as well, as the members of an etcd do. */
  readonly isPeer?: boolean;
}

/** Of the file that has the authority of a folder. */
export const authorityName = "ca";
const dayMs = 24 * 60 * 60 * 1000;
const authorityDays = 10 * 365;
const certificateDays = 365;
/** Certificates that end within this time are made anew, at start and while a cluster runs. */
export const renewalDays = 60;

/**
 * The certificates in one folder. What is missing is made; what is about to end, or is of another authority, is made anew for the
 * key that is there. The authority, once made, stays.
 */
export class Certificates {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #commonName: string;

  constructor(folder: string, clock: Clock, commonName = "knarr-ca") {
    this.#folder = folder;
    this.#clock = clock;
    this.#commonName = commonName;
  }

  /** The authority, made at the first call. */
  authority(): KeyPair {
    return (
      this.#read(authorityName) ??
      this.#write(authorityName, makeAuthority(this.#validity(authorityDays), this.#commonName))
    );
  }

  /** A certificate signed by the authority, kept under `name` until it nears its end or other hosts are wanted. */
  issue(name: string, request: CertificateRequest): KeyPair {
    const authority = this.authority();
    const present = this.#read(name);
    if (present && this.#isGood(present.cert, authority, request)) return present;
    return this.#write(name, makeCertificate(authority, request, this.#validity(certificateDays), present?.key));
  }

  /** The names of all certificates that are there with their keys, the authority first. */
  names(): readonly string[] {
    if (!existsSync(this.#folder)) return [];
    const found = readdirSync(this.#folder).flatMap((file) => /^(.+)\.crt$/.exec(file)?.[1] ?? []);
    const own = found.filter((name) => name !== authorityName && this.#read(name)).toSorted();
    return this.#read(authorityName) ? [authorityName, ...own] : own;
  }

  /** The certificate of that name, in PEM. */
  certificate(name: string): string | undefined {
    return this.#read(name)?.cert;
  }

  /** Makes a certificate anew for the same key, names and usage, whether it is about to end or not. */
  renew(name: string): KeyPair {
    const present = this.#read(name);
    if (!present || name === authorityName) throw new Error(`there is no certificate ${JSON.stringify(name)} to renew`);
    const request = requestOf(new X509Certificate(present.cert));
    return this.#write(name, makeCertificate(this.authority(), request, this.#validity(certificateDays), present.key));
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
    const names = hostsIn(subjectAltName);
    return hosts.every((host) => names.includes(canonicalHost(host)));
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
    replaceFile(join(this.#folder, `${name}.key`), pair.key, 0o600);
    replaceFile(join(this.#folder, `${name}.crt`), pair.cert, 0o644);
    return pair;
  }
}

/** As a whole or not at all: someone may be reading it. */
export function replaceFile(path: string, text: string, mode: number): void {
  writeFileSync(`${path}.new`, text, { mode });
  renameSync(`${path}.new`, path);
}

/** What a certificate of ours was asked for with. */
function requestOf(certificate: X509Certificate): CertificateRequest {
  const { commonName, organizations } = parseDistinguishedName(derInside(derElement(subjectOf(certificate)), sequence));
  const hosts = hostsIn(certificate.subjectAltName ?? "");
  const isPeer = hosts.length > 0 && certificate.keyUsage?.includes(clientAuth) === true;
  return { commonName, organizations, ...(hosts.length > 0 && { hosts }), ...(isPeer && { isPeer }) };
}

/** The names and addresses that a certificate is for, as Node writes them: `DNS:node-1, IP Address:FD00:0:0:0:0:0:0:1`. */
const hostsIn = (subjectAltName: string): readonly string[] =>
  subjectAltName
    .split(", ")
    .filter((name) => name !== "")
    .map((name) => canonicalHost(name.replace(/^(DNS|IP Address):/, "")));

/** Each address of IPv6 can be written in many ways. */
function canonicalHost(host: string): string {
  const address = parseIp(host);
  return address ? formatIp(address) : host;
}

const { sequence } = derTag;
const clientAuth = "1.3.6.1.5.5.7.3.2";
