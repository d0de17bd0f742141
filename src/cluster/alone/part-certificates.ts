// The certificates of a part that runs alone, followed while it serves.
import { X509Certificate } from "node:crypto";
import { hostname } from "node:os";
import type { Clock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { asCertificates, asPrivateKey, flagFile } from "#cli/host/flag-file.ts";
import type { FrontCertificates } from "#serving/host/https/front.ts";
import { makeAuthority, makeCertificate } from "../certificate-maker.ts";
import { type KeyPair, renewalDays } from "../certificates.ts";
import { LiveCertificates } from "../live-certificates.ts";
import type { AloneSettings } from "./flags.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** The pair that was given; else one that nobody can check, and nobody needs to. */
export function partCertificates(settings: AloneSettings, clock: Clock, log: Log): LiveCertificates<FrontCertificates> {
  const [cert, key, ca] = [settings["tls-cert-file"], settings["tls-private-key-file"], settings["client-ca-file"]];
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError("--tls-cert-file and --tls-private-key-file go together");
  const clientCa = () => (ca === undefined ? undefined : flagFile("client-ca-file", ca, asCertificates));
  const files = [cert, key, ca].filter((file) => file !== undefined);
  if (cert !== undefined && key !== undefined)
    return new LiveCertificates({
      read: () => ({
        cert: flagFile("tls-cert-file", cert, asCertificates),
        key: flagFile("tls-private-key-file", key, asPrivateKey),
        clientCa: clientCa(),
      }),
      files,
      clock,
      log,
    });
  let own = ownPair(clock);
  return new LiveCertificates({
    read() {
      if (Date.parse(new X509Certificate(own.cert).validTo) - clock.now() < renewalDays * dayMs) own = ownPair(clock);
      return { ...own, clientCa: clientCa() };
    },
    files,
    clock,
    log,
  });
}

function ownPair(clock: Clock): KeyPair {
  const validity = { notBefore: new Date(clock.now() - dayMs), notAfter: new Date(clock.now() + 365 * dayMs) };
  const hosts = [...new Set(["localhost", "127.0.0.1", hostname()])];
  return makeCertificate(makeAuthority(validity), { commonName: hostname(), hosts }, validity);
}
