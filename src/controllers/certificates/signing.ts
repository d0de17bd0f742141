// Signs the requests that were approved and that a built-in signer's rules allow.
// Upstream: pkg/controller/certificates/signer/signer.go.
import { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import { type Csr, parseCsr } from "#api/certificates/v1/request.ts";
import { textToBase64 } from "#base/base64.ts";
import { controller } from "#client/controller.ts";
import { timeOf } from "#schema/time.ts";
import { hasDecision } from "./decisions.ts";
import { type BuiltInSigner, builtInSigners } from "./signer-names.ts";
import { signerRules } from "./signer-rules.ts";

/** What a certificate says that its request does not decide. */
export interface CertificateTerms {
  readonly usages: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** An authority with its key, wherever that is. */
export interface CertificateSigner {
  /** When the authority ends, in milliseconds since 1970. */
  readonly notAfter: number;
  /** A certificate in PEM for the subject, the names and the key of the request. */
  sign(request: Csr, terms: CertificateTerms): string;
}

export interface SigningSettings {
  /** The authority of a signer as of now; undefined where this cluster has none for it. */
  readonly signerFor: (name: BuiltInSigner) => CertificateSigner | undefined;
  /** How long certificates are good for that ask for no time, and the most that one can ask for. */
  readonly durationMs: number;
}

const minuteMs = 60_000;
/** For clients whose clocks are behind. Less than the shortest life that can be asked for. */
const backdateMs = 5 * minuteMs;
const shortestMs = 10 * minuteMs;
/** From this life on, five minutes do not matter, and the end moves with the beginning. */
const longMs = 8 * 60 * minuteMs;

export const csrSigningController = ({ signerFor, durationMs }: SigningSettings) =>
  controller({
    name: "csrsigning",
    queue: "certificate",
    for: CertificateSigningRequest,
    backoff: { firstMs: 200, maxMs: 1_000_000 },

    async reconcile(csr, { client, clock }) {
      const { spec, status } = csr;
      if (status.certificate || !hasDecision(csr, "Approved")) return;
      if (hasDecision(csr, "Denied") || hasDecision(csr, "Failed")) return;
      const name = builtInSigners.find((one) => one === spec.signerName);
      const signer = name && signerFor(name);
      if (!signer) return;
      const request = parseCsr(spec.request);
      const problem = signerRules[name](request, spec.usages ?? []);
      if (problem !== undefined) {
        await client.update(CertificateSigningRequest, failed(csr, problem, timeOf(clock.now())), "status");
        return;
      }
      const dates = validity(spec.expirationSeconds, clock.now(), durationMs, signer.notAfter);
      const certificate = signer.sign(request, { usages: spec.usages ?? [], ...dates });
      const signed = { ...csr, status: { ...status, certificate: textToBase64(certificate) } };
      await client.update(CertificateSigningRequest, signed, "status");
    },
  });

/** From when to when. Throws where the authority has ended: what it signs would be good for nothing. */
function validity(askedSeconds: number | undefined, now: number, most: number, end: number) {
  if (now >= end)
    throw new Error(`refusing to sign a certificate that expired in the past: NotAfter=${new Date(end).toISOString()}`);
  const lifeMs = askedSeconds === undefined ? most : Math.min(most, Math.max(shortestMs, askedSeconds * 1000));
  const until = now + (lifeMs < longMs ? lifeMs : lifeMs - backdateMs);
  return { notBefore: new Date(now - backdateMs), notAfter: new Date(Math.min(until, end)) };
}

const failed = (csr: CertificateSigningRequest, message: string, now: string): CertificateSigningRequest => ({
  ...csr,
  status: {
    ...csr.status,
    conditions: [
      ...(csr.status.conditions ?? []),
      { type: "Failed", status: "True", reason: "SignerValidationFailure", message, lastUpdateTime: now },
    ],
  },
});
