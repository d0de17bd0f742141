// Certificates for the names that clients ask for in TLS. Upstream: apiserver/pkg/server/dynamiccertificates/named_certificates.go.
import { X509Certificate } from "node:crypto";
import { UsageError } from "#base/errors.ts";
import type { FlagValues } from "#cli/flags.ts";
import { asCertificates, asPrivateKey, flagFile, isPair } from "#cli/host/flag-file.ts";
import type { CertificateFor, ServingCertificate } from "#serving/host/https/server-names.ts";

export const serverNameFlags = {
  "tls-sni-cert-key": {
    type: "repeated",
    value: "CERT,KEY[:NAMES]",
    help: "Certificate for clients that ask for one of these names, as a.example or *.example; without any, for those in the certificate. May be given several times",
  },
} as const;

/** A certificate with the names that it is for. */
export interface NamedCertificate extends ServingCertificate {
  readonly names: readonly string[];
  /** Whether the names were given; else they are those of the certificate. */
  readonly isExplicit: boolean;
}

interface NamedFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly names: readonly string[];
}

/** Reads the files anew. Throws UsageError. */
export const namedCertificates = (settings: FlagValues<typeof serverNameFlags>): readonly NamedCertificate[] =>
  settings["tls-sni-cert-key"].map((text) => {
    const { certFile, keyFile, names } = namedFiles(text);
    const cert = flagFile("tls-sni-cert-key", certFile, asCertificates);
    const key = flagFile("tls-sni-cert-key", keyFile, asPrivateKey);
    if (!isPair(cert, key))
      throw new UsageError(`--tls-sni-cert-key: ${keyFile} is not the key of the certificate in ${certFile}`);
    return { cert, key, names: names.length > 0 ? names : namesIn(cert), isExplicit: names.length > 0 };
  });

export const namedFilePaths = (settings: FlagValues<typeof serverNameFlags>): readonly string[] =>
  settings["tls-sni-cert-key"].flatMap((text) => {
    const { certFile, keyFile } = namedFiles(text);
    return [certFile, keyFile];
  });

function namedFiles(text: string): NamedFiles {
  const colon = text.lastIndexOf(":");
  const [files, names] = colon < 0 ? [text, ""] : [text.slice(0, colon), text.slice(colon + 1)];
  const [certFile = "", keyFile = "", ...others] = files.split(",").map((part) => part.trim());
  if (certFile === "" || keyFile === "" || others.length > 0)
    throw new UsageError(`--tls-sni-cert-key: expected comma separated certificate and key file paths, got ${files}`);
  const given = names
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "");
  if (colon >= 0 && given.length === 0) throw new UsageError("--tls-sni-cert-key: names are missing after the colon");
  return { certFile, keyFile, names: given };
}

/** The alternative names; without any the common name. Addresses are none: clients do not ask for them. */
function namesIn(cert: string): readonly string[] {
  const { subjectAltName = "", subject } = new X509Certificate(cert);
  const names = [...subjectAltName.matchAll(/(?:^|, )DNS:([^,"]+)/g)].map(([, name = ""]) => name.toLowerCase());
  const common = /^CN=(.+)$/m.exec(subject)?.[1];
  return names.length > 0 || common === undefined ? names : [common.toLowerCase()];
}

/**
 * A name that is written out counts before one with a star, and names that were given before those of certificates; of equals the first.
 * A star stands for one label, as in certificates.
 */
export function certificateByName(certificates: readonly NamedCertificate[]): CertificateFor {
  const byName = new Map<string, NamedCertificate>();
  const ordered = [...certificates].sort((a, b) => Number(b.isExplicit) - Number(a.isExplicit));
  for (const certificate of ordered)
    for (const name of certificate.names) if (!byName.has(name)) byName.set(name, certificate);
  return (name) => byName.get(name) ?? byName.get(name.replace(/^[^.]+/, "*"));
}
