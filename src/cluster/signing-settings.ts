// The authorities that sign what was asked for with CertificateSigningRequests, by the flags of the controller manager.
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { UsageError } from "#base/errors.ts";
import { durationFlag } from "#cli/duration-flag.ts";
import type { FlagValues } from "#cli/flags.ts";
import { asCertificates, asPrivateKey, flagFile, isPair } from "#cli/host/flag-file.ts";
import { type BuiltInSigner, signers } from "#controllers/certificates/signer-names.ts";
import type { CertificateSigner, SigningSettings } from "#controllers/certificates/signing.ts";
import { signRequest } from "./certificate-maker.ts";
import type { KeyPair } from "./certificates.ts";

const certificate = (signer: string) =>
  ({
    type: "string",
    value: "FILE",
    help: `Authority that signs for ${signer}; then no other signer has the common one`,
  }) as const;
const key = { type: "string", value: "FILE", help: "Key of that authority" } as const;

export const signingFlags = {
  "cluster-signing-cert-file": {
    type: "string",
    value: "FILE",
    help: "Authority that signs the certificates that are asked for and approved; none are signed without",
  },
  "cluster-signing-key-file": key,
  "cluster-signing-duration": {
    type: "string",
    value: "DURATION",
    default: "8760h0m0s",
    help: "How long those are good for, and the most that a request can ask for",
  },
  "cluster-signing-kube-apiserver-client-cert-file": certificate(signers.apiClient),
  "cluster-signing-kube-apiserver-client-key-file": key,
  "cluster-signing-kubelet-client-cert-file": certificate(signers.kubeletClient),
  "cluster-signing-kubelet-client-key-file": key,
  "cluster-signing-kubelet-serving-cert-file": certificate(signers.kubeletServing),
  "cluster-signing-kubelet-serving-key-file": key,
  "cluster-signing-legacy-unknown-cert-file": certificate(signers.legacy),
  "cluster-signing-legacy-unknown-key-file": key,
} as const;

type SigningFlagValues = FlagValues<typeof signingFlags>;

const ownFlags = {
  [signers.apiClient]: "cluster-signing-kube-apiserver-client",
  [signers.kubeletClient]: "cluster-signing-kubelet-client",
  [signers.kubeletServing]: "cluster-signing-kubelet-serving",
  [signers.legacy]: "cluster-signing-legacy-unknown",
} as const satisfies Readonly<Record<BuiltInSigner, string>>;

/** Undefined where no flag names an authority. The files are read again when they have changed. Throws UsageError. */
export function signingBy(settings: SigningFlagValues): SigningSettings | undefined {
  const durationMs = durationFlag("cluster-signing-duration", settings["cluster-signing-duration"]);
  const common = authorityFiles(settings, "cluster-signing");
  const own = new Map(
    Object.values(signers).flatMap((name) => {
      const files = authorityFiles(settings, ownFlags[name]);
      return files ? [[name, files] as const] : [];
    }),
  );
  if (common && own.size > 0) throw new UsageError("cannot specify default and per controller certs at the same time");
  if (!common && own.size === 0) return undefined;
  return { durationMs, signerFor: (name) => (common ?? own.get(name))?.() };
}

/** One authority for all signers. */
export const signingWith = (authority: () => KeyPair, durationMs: number): SigningSettings => ({
  durationMs,
  signerFor: () => signerOf(authority()),
});

function signerOf(authority: KeyPair): CertificateSigner {
  return {
    notAfter: Date.parse(new X509Certificate(authority.cert).validTo),
    sign: (request, terms) => signRequest(authority, request, terms),
  };
}

function authorityFiles(
  settings: SigningFlagValues,
  prefix: "cluster-signing" | (typeof ownFlags)[BuiltInSigner],
): (() => CertificateSigner) | undefined {
  const [certFlag, keyFlag] = [`${prefix}-cert-file`, `${prefix}-key-file`] as const;
  const [certFile, keyFile] = [settings[certFlag], settings[keyFlag]];
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined)
    throw new UsageError(`--${certFlag} and --${keyFlag} belong together`);
  const first = {
    cert: flagFile(certFlag, certFile, asCertificates),
    key: flagFile(keyFlag, keyFile, asPrivateKey),
  };
  if (!isPair(first.cert, first.key))
    throw new UsageError(`--${keyFlag}: ${keyFile} is not the key of the certificate in ${certFile}`);
  let [pair, signer] = [first, signerOf(first)];
  return () => {
    // Requests are few, so both files are looked at for each. While they are being replaced they do not fit each other.
    const now = { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") };
    if ((now.cert !== pair.cert || now.key !== pair.key) && isPair(now.cert, now.key))
      [pair, signer] = [now, signerOf(now)];
    return signer;
  };
}
