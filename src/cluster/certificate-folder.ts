// All certificates that we made for a cluster: those of its own authority, of the front proxies', and of its etcd's.
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { authorityName, Certificates, renewalDays } from "./certificates.ts";
import { frontProxyFolder } from "./control-plane-certificates.ts";
import { etcdFolder } from "./etcd/etcd-certificates.ts";

export type CertificateState = "good" | "due" | "ended";

export interface CertificateReport {
  /** As `renew` takes it: the file without its ending, with the folder it is in. */
  readonly name: string;
  readonly file: string;
  readonly subject: string;
  readonly issuer: string;
  readonly isAuthority: boolean;
  readonly notAfter: string;
  /** Less than none if it has ended. */
  readonly secondsLeft: number;
  /** A certificate that is due is renewed by the process that uses it, within a minute. */
  readonly state: CertificateState;
}

const dayMs = 24 * 60 * 60 * 1000;

export class CertificateFolder {
  readonly #folder: string;
  readonly #clock: Clock;

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  reports(): readonly CertificateReport[] {
    return this.#entries().map(({ name, certificates, own }) => {
      const certificate = new X509Certificate(certificates.certificate(own) ?? "");
      const leftMs = Date.parse(certificate.validTo) - this.#clock.now();
      return {
        name,
        file: join(this.#folder, `${name}.crt`),
        subject: onOneLine(certificate.subject),
        issuer: onOneLine(certificate.issuer),
        isAuthority: certificate.ca,
        notAfter: new Date(certificate.validTo).toISOString().replace(".000Z", "Z"),
        secondsLeft: Math.floor(leftMs / 1000),
        state: stateOf(leftMs, certificate.ca),
      };
    });
  }

  /** Makes these anew, or all but the authorities if none are named. Returns their names. Throws UsageError before anything is done. */
  renew(names: readonly string[]): readonly string[] {
    const entries = this.#entries();
    const known = entries.filter(({ own }) => own !== authorityName);
    for (const name of names) {
      if (known.some((entry) => entry.name === name)) continue;
      if (entries.some((entry) => entry.name === name))
        throw new UsageError(
          `${name} is an authority: what it signed is good as long as it is, so it is not replaced in place`,
        );
      throw new UsageError(
        `there is no certificate ${JSON.stringify(name)}; there are ${known.map((entry) => entry.name).join(", ")}`,
      );
    }
    const chosen = known.filter(({ name }) => names.length === 0 || names.includes(name));
    for (const { certificates, own } of chosen) certificates.renew(own);
    return chosen.map(({ name }) => name);
  }

  #entries() {
    const entriesIn = (folder: string) => {
      const certificates = new Certificates(join(this.#folder, folder), this.#clock);
      return certificates.names().map((own) => ({ name: join(folder, own), certificates, own }));
    };
    return [...entriesIn(""), ...entriesIn(frontProxyFolder), ...entriesIn(etcdFolder)];
  }
}

const onOneLine = (name: string): string => name.split("\n").join(", ");

/** Authorities are not renewed, so they are not due. */
function stateOf(leftMs: number, isAuthority: boolean): CertificateState {
  if (leftMs <= 0) return "ended";
  return !isAuthority && leftMs < renewalDays * dayMs ? "due" : "good";
}
