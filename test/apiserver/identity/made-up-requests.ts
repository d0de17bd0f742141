// Requests for certificates, certificates and headers that nobody meant, for the suite in thousands and for a night in millions.
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import fc from "fast-check";
import { certificateEnd } from "#api/certificates/v1/certificate-end.ts";
import { signatureProblems } from "#api/certificates/v1/checks.ts";
import { CsrError, parseCsr } from "#api/certificates/v1/request.ts";
import { csrOf, generalNames } from "#api/certificates/v1/testing.ts";
import { ManualClock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { makeAuthority, makeCertificate, signRequest } from "#cluster/certificate-maker.ts";
import { signerRules } from "#controllers/certificates/signer-rules.ts";
import { identifyBy, TokenError } from "#serving/authentication.ts";
import { GuessLimiter, guessMs } from "#serving/guess-limiter.ts";
import { subjectOf } from "#serving/host/certificate-authenticator.ts";
import type { HttpRequest } from "#wire/http.ts";

const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2027-01-01") };
const names = [generalNames.dns("a.example"), generalNames.ip(10, 0, 0, 1), generalNames.uri("spiffe://a/b")];
const good = csrOf({ O: ["system:nodes"], CN: ["system:node:a"] }, undefined, names);
const derOf = (pem: string): Buffer =>
  Buffer.from(/-----BEGIN [A-Z ]+-----([^-]+)-----END/.exec(pem)?.[1] ?? "", "base64");
const requestDer = derOf(atob(good));
const asRequest = (der: Uint8Array): string =>
  btoa(
    `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from(der).toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`,
  );

/** Bytes that are almost those of something: some changed, some left out, some put in. */
const almost = (bytes: Buffer): fc.Arbitrary<Buffer> =>
  fc
    .array(fc.record({ at: fc.nat(bytes.length - 1), cut: fc.nat(3), put: fc.uint8Array({ maxLength: 3 }) }), {
      minLength: 1,
      maxLength: 4,
    })
    .map((edits) =>
      edits.reduce((now, { at, cut, put }) => Buffer.concat([now.subarray(0, at), put, now.subarray(at + cut)]), bytes),
    );

/** One that differs from what its key signed is never signed, and one that can be read is signed or refused without a fault. */
export async function madeUpCsrs(numRuns: number): Promise<void> {
  const authority = makeAuthority(validity);
  const original = parseCsr(good);
  await fc.assert(
    fc.asyncProperty(almost(requestDer), async (der) => {
      const text = asRequest(der);
      let request: ReturnType<typeof parseCsr>;
      try {
        request = parseCsr(text);
      } catch (error) {
        assert.ok(error instanceof CsrError, String(error));
        return;
      }
      const isSame = Buffer.compare(request.info, original.info) === 0;
      if (!isSame) assert.notDeepEqual(await signatureProblems("request", text), [], "it was never signed");
      for (const rule of Object.values(signerRules)) rule(request, ["digital signature", "client auth"]);
      if (isSame) new X509Certificate(signRequest(authority, request, { usages: ["client auth"], ...validity }));
    }),
    { numRuns },
  );
}

/** Whom a certificate names is read or refused; that it was never signed, TLS finds out. */
export function madeUpCertificates(numRuns: number): void {
  const authority = makeAuthority(validity);
  const { cert } = makeCertificate(authority, { commonName: "jane", organizations: ["dev"] }, validity);
  const der = derOf(cert);
  const key = new X509Certificate(authority.cert).publicKey;
  fc.assert(
    fc.property(almost(der), (bytes) => {
      const pem = `-----BEGIN CERTIFICATE-----\n${bytes.toString("base64")}\n-----END CERTIFICATE-----\n`;
      certificateEnd(btoa(pem));
      try {
        subjectOf(bytes);
      } catch (error) {
        assert.equal(error instanceof Error && error.name, "DerError");
      }
      let certificate: X509Certificate;
      try {
        certificate = new X509Certificate(bytes);
      } catch {
        return; // TLS reads it no more than this
      }
      if (Buffer.compare(certificate.raw, der) !== 0) assert.equal(certificate.verify(key), false);
    }),
    { numRuns },
  );
}

const scheme = fc.constantFrom("Bearer", "bearer", "Basic", "Negotiate", "", "Bearer Bearer");
const authorization = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.tuple(scheme, fc.string({ maxLength: 40 })).map(([kind, text]) => `${kind} ${text}`),
);

/** Whoever shows anything that nobody knows is refused, and is never taken for a stranger who shows nothing. */
export async function madeUpHeaders(numRuns: number): Promise<void> {
  const clock = new ManualClock();
  const identify = identifyBy({
    guesses: new GuessLimiter({ clock, log: silentLog }),
    authenticators: [],
    authenticateToken: async () => {
      throw new TokenError("nobody's");
    },
  });
  const protocols = fc.option(fc.string({ maxLength: 60 }), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(authorization, protocols, async (shown, offered) => {
      const headers = {
        authorization: shown,
        ...(offered !== undefined && {
          "sec-websocket-protocol": offered,
          upgrade: "websocket",
          connection: "Upgrade",
        }),
      };
      const request = { method: "GET", path: "/api", headers, remoteAddress: "::1" } as unknown as HttpRequest;
      await clock.advance(guessMs);
      try {
        const user = await identify(request);
        assert.equal(user.name, "system:anonymous");
        assert.ok(shown === "" && !offered?.includes("base64url.bearer"), JSON.stringify(headers));
      } catch (error) {
        assert.ok(error instanceof ApiError && error.code === 401, String(error));
      }
    }),
    { numRuns },
  );
}
