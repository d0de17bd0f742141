import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { asCertificates, asPrivateKey, flagFile, isPair } from "#cli/host/flag-file.ts";
import { controlPlaneCertificates, type FrontProxyCertificates } from "./control-plane-certificates.ts";
import { masterAdmin } from "./identities.ts";

/** Where the API server's certificates come from, by the names of its flags. */
export interface CertificateFlags {
  readonly "tls-cert-file": string | undefined;
  readonly "tls-private-key-file": string | undefined;
  readonly "client-ca-file": string | undefined;
  readonly "cert-dir": string | undefined;
  readonly "data-dir": string | undefined;
  readonly "bind-address": string;
  readonly "service-cluster-ip-range": string;
}

export interface ServingCertificates {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string | undefined;
  /** Of our own; undefined where the certificates are not ours. */
  readonly frontProxy?: FrontProxyCertificates;
  /** Writes a kubeconfig for an administrator; does nothing if the certificates are not ours. */
  writeKubeconfig(port: number): void;
}

/** Where our own certificates and keys are kept; undefined where nothing is kept at all. */
export function certificateFolder(settings: Pick<CertificateFlags, "cert-dir" | "data-dir">): string | undefined {
  const data = settings["data-dir"];
  return settings["cert-dir"] ?? (data === undefined ? undefined : join(data, "pki"));
}

/** Those that were given; else our own, made at the first start and kept beside the store. */
export function servingCertificates(settings: CertificateFlags): ServingCertificates {
  const [certFile, keyFile, clientCaFile] = [
    settings["tls-cert-file"],
    settings["tls-private-key-file"],
    settings["client-ca-file"],
  ];
  const given = clientCaFile === undefined ? undefined : flagFile("client-ca-file", clientCaFile, asCertificates);
  if (certFile !== undefined && keyFile !== undefined) {
    const cert = flagFile("tls-cert-file", certFile, asCertificates);
    const key = flagFile("tls-private-key-file", keyFile, asPrivateKey);
    if (!isPair(cert, key))
      throw new UsageError(`--tls-private-key-file: ${keyFile} is not the key of the certificate in ${certFile}`);
    return { cert, key, clientCa: given, writeKubeconfig: () => undefined };
  }
  if (certFile !== undefined || keyFile !== undefined)
    throw new UsageError("--tls-cert-file and --tls-private-key-file go together");
  const folder = certificateFolder(settings);
  const placed = folder === undefined ? undefined : pairPlacedIn(folder);
  if (placed) return { ...placed, clientCa: given, writeKubeconfig: () => undefined };
  if (folder === undefined)
    throw new UsageError(
      "--tls-cert-file and --tls-private-key-file, or --cert-dir for certificates of our own, are needed with this store",
    );
  const own = controlPlaneCertificates(folder, {
    clock: systemClock,
    serviceRange: settings["service-cluster-ip-range"],
    addresses: [settings["bind-address"]],
    admin: masterAdmin,
  });
  return {
    cert: own.server.cert,
    key: own.server.key,
    frontProxy: own.frontProxy,
    clientCa: given === undefined ? own.authority.cert : `${given}\n${own.authority.cert}`,
    writeKubeconfig: (port) => own.writeKubeconfigs("knarr", `https://127.0.0.1:${port}`),
  };
}

/**
 * A pair that somebody else has put into the folder is used as it is, as upstream does; tests of operators start API servers in that way. In
 * a folder of ours the authority is there as well.
 */
function pairPlacedIn(folder: string): { readonly cert: string; readonly key: string } | undefined {
  const [certFile, keyFile] = [join(folder, "apiserver.crt"), join(folder, "apiserver.key")];
  if (existsSync(join(folder, "ca.crt")) || !existsSync(certFile) || !existsSync(keyFile)) return undefined;
  const cert = flagFile("cert-dir", certFile, asCertificates);
  const key = flagFile("cert-dir", keyFile, asPrivateKey);
  if (!isPair(cert, key))
    throw new UsageError(`--cert-dir: ${keyFile} is not the key of the certificate in ${certFile}`);
  return { cert, key };
}
