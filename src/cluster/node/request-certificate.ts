// A certificate by way of the API: asks with a CertificateSigningRequest, and waits until somebody has approved and signed it.
// Upstream: staging/src/k8s.io/client-go/util/certificate/csr/csr.go.
import { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import type { Clock } from "#base/clock.ts";
import type { Client } from "#client/client.ts";
import { makeKey, requestFor } from "../certificate-maker.ts";
import type { CertificateRequest, KeyPair } from "../certificates.ts";

export interface CertificateOrder extends CertificateRequest {
  readonly signerName: string;
  readonly usages: readonly ("client auth" | "server auth" | "digital signature")[];
  /** How long it should be good for; the signer may give less. */
  readonly expirationSeconds?: number;
}

export interface CertificateSource {
  /** May create and get CertificateSigningRequests. */
  readonly client: Client;
  readonly clock: Clock;
  /** Called with the name of the request as soon as there is one. */
  readonly asked?: (name: string) => void;
}

/** Somebody has decided against it: asking again would not help. */
export class CertificateRefusal extends Error {}

const lookMs = { first: 100, most: 2000 };
/** As long as upstream's kubelet waits for somebody to decide. */
const patienceMs = 15 * 60_000;

/** With a new key, which never leaves this process otherwise than into the hands of the caller. */
export async function requestCertificate(
  wanted: CertificateOrder,
  { client, clock, asked }: CertificateSource,
  signal: AbortSignal,
): Promise<KeyPair> {
  const key = makeKey();
  const request = Buffer.from(requestFor(key, wanted)).toString("base64");
  const api = client.bound({ signal });
  const { signerName, usages, expirationSeconds } = wanted;
  const { metadata } = await api.create(CertificateSigningRequest, {
    apiVersion: CertificateSigningRequest.apiVersion,
    kind: CertificateSigningRequest.kind,
    metadata: { generateName: "csr-" },
    spec: {
      request,
      signerName,
      usages: [...usages],
      ...(expirationSeconds !== undefined && { expirationSeconds }),
    },
  });
  const { name } = metadata;
  asked?.(name);
  let waitMs = lookMs.first;
  for (const end = clock.elapsed() + patienceMs; clock.elapsed() < end; ) {
    const { status } = await api.get(CertificateSigningRequest, { name });
    const refusal = status.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
    if (refusal)
      throw new CertificateRefusal(
        `certificate signing request ${name} was ${refusal.type === "Denied" ? "denied" : "not signed"}: ${refusal.message || refusal.reason || "no reason is given"}`,
      );
    if (status.certificate) return { cert: Buffer.from(status.certificate, "base64").toString(), key };
    await clock.sleep(waitMs, signal);
    waitMs = Math.min(waitMs * 1.5, lookMs.most);
  }
  throw new Error(`certificate signing request ${name} was neither approved nor denied within 15 minutes`);
}
