import assert from "node:assert/strict";
import { test } from "node:test";
import { SubjectAccessReview } from "#api/authorization/v1/subject-access-review.ts";
import { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import { csrOf, generalNames } from "#api/certificates/v1/testing.ts";
import { Node } from "#api/core/v1/node.ts";
import { textToBase64 } from "#base/base64.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { csrApprovingController } from "./approving.ts";
import { csrCleanerController } from "./cleaner.ts";
import { type BuiltInSigner, signers } from "./signer-names.ts";
import { type CertificateTerms, csrSigningController } from "./signing.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const now = "2026-01-01T00:00:00Z";
const node = { O: ["system:nodes"], CN: ["system:node:a"] };
const nodeUsages = ["digital signature", "client auth"];
const approvedAt = (at: string) => [{ type: "Approved", status: "True", lastUpdateTime: at }];

interface Request {
  readonly signer?: string;
  readonly subject?: Readonly<Record<string, readonly string[]>>;
  readonly names?: readonly Uint8Array[];
  readonly usages?: readonly string[];
  readonly seconds?: number;
}

const spec = ({
  signer = signers.kubeletClient,
  subject = node,
  names = [],
  usages = nodeUsages,
  seconds,
}: Request) => ({
  signerName: signer,
  request: csrOf(subject, undefined, names),
  usages: [...usages] as CertificateSigningRequest["spec"]["usages"] & object,
  ...(seconds !== undefined && { expirationSeconds: seconds }),
});

/** Answers reviews: `allowed` are subresources that may be created. */
function reviewing(w: ClientWorld, allowed: readonly string[]): string[] {
  const asked: string[] = [];
  const client = w.client;
  const create = client.create.bind(client);
  client.create = (async (kind: never, object: never, ...rest: never[]) => {
    if ((kind as unknown) !== SubjectAccessReview) return create(kind, object, ...rest);
    const { resourceAttributes, user } = (object as { spec: SubjectAccessReview["spec"] }).spec;
    asked.push(
      `${user} ${resourceAttributes?.verb} ${resourceAttributes?.resource}/${resourceAttributes?.subresource}`,
    );
    return { status: { allowed: allowed.includes(resourceAttributes?.subresource ?? "") } };
  }) as typeof client.create;
  return asked;
}

const approvals: Readonly<
  Record<string, readonly [Request & { user?: string }, readonly string[], string | undefined]>
> = {
  "a node that renews its own": [
    { user: "system:node:a" },
    ["selfnodeclient"],
    "Auto approving self kubelet client certificate after SubjectAccessReview.",
  ],
  "a bootstrap token for a new node": [
    { user: "system:bootstrap:abcdef" },
    ["nodeclient"],
    "Auto approving kubelet client certificate after SubjectAccessReview.",
  ],
  "a node for another": [{ user: "system:node:b" }, ["selfnodeclient"], undefined],
  "somebody without the right": [{ user: "jane" }, [], undefined],
  "another signer": [{ user: "jane", signer: signers.apiClient }, ["nodeclient"], undefined],
  "a serving certificate": [
    { user: "system:node:a", signer: signers.kubeletServing, usages: ["digital signature", "server auth"] },
    ["nodeclient", "selfnodeclient"],
    undefined,
  ],
  "another group": [
    { user: "jane", subject: { O: ["system:masters"], CN: ["system:node:a"] } },
    ["nodeclient"],
    undefined,
  ],
};
for (const [what, [request, allowed, message]] of Object.entries(approvals))
  test(`approving: ${what} is ${message === undefined ? "left to people" : "approved"}`, async () => {
    const w = world({ now });
    reviewing(w, allowed);
    const { user = "" } = request;
    const csr = w.have(CertificateSigningRequest, {
      metadata: { name: "r" },
      spec: { ...spec(request), username: user },
    });
    await w
      .reconcile(csrApprovingController, csr)
      .catch((error: unknown) => assert.match(String(error), /not approved/));
    const conditions = w.get(CertificateSigningRequest, { name: "r" })?.status.conditions ?? [];
    assert.deepEqual(
      conditions.map((one) => [one.type, one.reason, one.message]),
      message === undefined ? [] : [["Approved", "AutoApproved", message]],
    );
  });

test("approving: a token does not get the name of a node that is alive, but of one that is not", async () => {
  for (const [status, decision] of [
    ["True", "Denied"],
    ["Unknown", "Approved"],
  ] as const) {
    const w = world({ now });
    reviewing(w, ["nodeclient"]);
    w.have(Node, { metadata: { name: "a" }, status: { conditions: [{ type: "Ready", status }] } });
    const asked = { ...spec({}), username: "system:bootstrap:abcdef" };
    const csr = w.have(CertificateSigningRequest, { metadata: { name: "x" }, spec: asked });
    await w.reconcile(csrApprovingController, csr);
    const [made] = (w.get(CertificateSigningRequest, { name: "x" }) ?? csr).status.conditions ?? [];
    assert.equal(made?.type, decision);
  }
});

test("approving: a request that was denied is not asked about again", async () => {
  const w = world({ now });
  const asked = reviewing(w, ["nodeclient"]);
  const status = { conditions: [{ type: "Denied", status: "True" }] };
  const csr = w.have(CertificateSigningRequest, { metadata: { name: "r" }, spec: spec({}), status });
  await w.reconcile(csrApprovingController, csr);
  assert.deepEqual([asked, w.writes()], [[], []]);
});

/** Signs, and shows the terms that it was asked to sign under. */
async function signed(request: Request, options: { conditions?: readonly object[]; ends?: string } = {}) {
  const w = world({ now });
  const terms: CertificateTerms[] = [];
  const signer = {
    notAfter: Date.parse(options.ends ?? "2036-01-01T00:00:00Z"),
    sign(_csr: unknown, given: CertificateTerms) {
      terms.push(given);
      return "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    },
  };
  const known: readonly BuiltInSigner[] = Object.values(signers);
  const controller = csrSigningController({
    signerFor: (name) => (known.includes(name) ? signer : undefined),
    durationMs: 365 * day,
  });
  const conditions = (options.conditions ?? approvedAt(now)) as ReturnType<typeof approvedAt>;
  const csr = w.have(CertificateSigningRequest, {
    metadata: { name: "r" },
    spec: spec(request),
    status: { conditions },
  });
  await w.reconcile(controller, csr);
  const status = w.get(CertificateSigningRequest, { name: "r" })?.status;
  const failure = status?.conditions?.find(({ type }) => type === "Failed");
  return { terms: terms[0], isSigned: status?.certificate !== undefined, failure: failure?.message };
}

const [dns, ip, email, uri] = [
  generalNames.dns("a.example"),
  generalNames.ip(10, 0, 0, 1),
  generalNames.email("a@x.example"),
  generalNames.uri("spiffe://a"),
];
const serving = { signer: signers.kubeletServing, usages: ["digital signature", "server auth"], names: [dns] };
const client = { signer: signers.apiClient, subject: { CN: ["jane"] }, usages: ["client auth"] };
const refusals: Readonly<Record<string, readonly [Request, string | undefined]>> = {
  "a kubelet's client": [{}, undefined],
  "a kubelet's client with a key of RSA": [{ usages: [...nodeUsages, "key encipherment"] }, undefined],
  "a kubelet's client of two groups": [
    { subject: { O: ["system:nodes", "system:masters"], CN: ["system:node:a"] } },
    "subject organization is not system:nodes",
  ],
  "a kubelet's client of another name": [
    { subject: { O: ["system:nodes"], CN: ["jane"] } },
    "subject common name does not begin with system:node:",
  ],
  "a kubelet's client with a DNS name": [{ names: [dns] }, "DNS subjectAltNames are not allowed"],
  "a kubelet's client with an address": [{ names: [ip] }, "IP subjectAltNames are not allowed"],
  "a kubelet's client with a mailbox": [{ names: [email] }, "Email subjectAltNames are not allowed"],
  "a kubelet's client with a URI": [{ names: [uri] }, "URI subjectAltNames are not allowed"],
  "a kubelet's client for servers, too": [
    { usages: [...nodeUsages, "server auth"] },
    "usages did not match [client auth digital signature key encipherment]",
  ],
  "a kubelet's server": [serving, undefined],
  "a kubelet's server by address": [{ ...serving, names: [ip] }, undefined],
  "a kubelet's server without a name": [{ ...serving, names: [] }, "DNS or IP subjectAltName is required"],
  "a kubelet's server with a mailbox": [{ ...serving, names: [dns, email] }, "Email subjectAltNames are not allowed"],
  "a kubelet's server with a URI": [{ ...serving, names: [dns, uri] }, "URI subjectAltNames are not allowed"],
  "a kubelet's server of another name": [
    { ...serving, subject: { O: ["system:nodes"], CN: ["jane"] } },
    "subject common name does not begin with system:node:",
  ],
  "a kubelet's server that is a client": [
    { ...serving, usages: nodeUsages },
    "usages did not match [digital signature key encipherment server auth]",
  ],
  "a client": [client, undefined],
  "a client that is a server": [
    { ...client, usages: ["client auth", "server auth"] },
    "invalid usage for client certificate: server auth",
  ],
  "a client without the usage": [
    { ...client, usages: ["digital signature"] },
    "missing required usage for client certificate: client auth",
  ],
  "anything that the oldest signer is asked for": [
    { signer: signers.legacy, subject: { CN: ["x"] }, names: [uri], usages: ["cert sign"] },
    undefined,
  ],
};
for (const [what, [request, failure]] of Object.entries(refusals))
  test(`signing: ${what} is ${failure === undefined ? "signed" : "refused"}`, async () => {
    const result = await signed(request);
    assert.deepEqual([result.isSigned, result.failure], [failure === undefined, failure]);
  });

test("signing: nothing is signed that nobody approved, that was denied, that failed, or that is for another signer", async () => {
  const failed = [...approvedAt(now), { type: "Failed", status: "True" }];
  const denied = [...approvedAt(now), { type: "Denied", status: "True" }];
  for (const conditions of [[], failed, denied]) assert.equal((await signed({}, { conditions })).isSigned, false);
  assert.equal((await signed({ signer: "example.com/own" })).isSigned, false);
});

const lives: Readonly<Record<string, readonly [number | undefined, string]>> = {
  "a year where no time was asked for": [undefined, "2026-12-31T23:55:00.000Z"],
  "not more than a year": [10 * 365 * 86_400, "2026-12-31T23:55:00.000Z"],
  "a short time in full": [3600, "2026-01-01T01:00:00.000Z"],
  "eight hours with the minutes before": [8 * 3600, "2026-01-01T07:55:00.000Z"],
  "ten minutes at least": [600, "2026-01-01T00:10:00.000Z"],
};
for (const [what, [seconds, until]] of Object.entries(lives))
  test(`signing: a certificate is good for ${what}`, async () => {
    const { terms } = await signed({ ...(seconds !== undefined && { seconds }) });
    assert.equal(terms?.notBefore.toISOString(), "2025-12-31T23:55:00.000Z");
    assert.equal(terms.notAfter.toISOString(), until);
  });

test("signing: no certificate outlives its authority, and one that has ended signs nothing", async () => {
  const { terms } = await signed({}, { ends: "2026-02-01T00:00:00Z" });
  assert.equal(terms?.notAfter.toISOString(), "2026-02-01T00:00:00.000Z");
  await assert.rejects(signed({}, { ends: now }), /expired in the past/);
});

const certificate = textToBase64("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
const decided = (type: string) => ({ conditions: [{ type, status: "True", lastUpdateTime: now }] });
const ages: Readonly<Record<string, readonly [object, number | undefined]>> = {
  "one that nobody decided about": [{}, day],
  "one that was approved and not signed": [decided("Approved"), day],
  "one that was signed": [{ ...decided("Approved"), certificate }, hour],
  "one that was denied": [decided("Denied"), hour],
  "one that failed": [decided("Failed"), hour],
  "one with a condition of somebody else": [decided("Considered"), undefined],
};
for (const [what, [status, age]] of Object.entries(ages))
  test(`cleaning: ${what} is ${age === undefined ? "kept" : `deleted after ${age / hour} h`}`, async () => {
    const w = world({ now });
    const csr = w.have(CertificateSigningRequest, {
      metadata: { name: "r", creationTimestamp: now },
      spec: spec({}),
      status,
    });
    const again = await w.reconcile(csrCleanerController, csr);
    assert.equal(again?.afterMs, age === undefined ? undefined : age + 1);
    await w.clock.advance(age ?? 30 * day);
    await w.reconcile(csrCleanerController, csr);
    assert.deepEqual(w.writes(), []);
    await w.clock.advance(1);
    await w.reconcile(csrCleanerController, csr);
    assert.deepEqual(w.writes(), age === undefined ? [] : ["delete CertificateSigningRequest r"]);
  });
