import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf, changed, ruleTests, statusProblemsOf, updateTests } from "../../testing/rules.ts";
import { CertificateSigningRequest } from "./certificate-signing-request.ts";
import { csrOf } from "./testing.ts";

const pem = (type: string, body = "AAAA") => btoa(`-----BEGIN ${type}-----\n${body}\n-----END ${type}-----\n`);
const request = csrOf({ CN: ["jane"] });
/** A request of which only so many bytes are left. */
const truncated = (bytes: number) => {
  const [, body = ""] = atob(request).split("\n");
  return pem("CERTIFICATE REQUEST", btoa(atob(body).slice(0, bytes)));
};
const long = pem("CERTIFICATE REQUEST", "A".repeat(64 * 1024));
const csr = {
  spec: { request, signerName: "example.com/serving", usages: ["server auth"] },
};

ruleTests(CertificateSigningRequest, csr, {
  "nothing at all": [
    { spec: {} },
    "spec.request: Invalid value: null: PEM block type must be CERTIFICATE REQUEST",
    "spec.usages: Required value",
    "spec.signerName: Required value",
  ],
  "a usage without a name, and one twice": [
    { "spec.usages": ["", "any", "any"] },
    'spec.usages[0]: Unsupported value: "": supported values: "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"',
    'spec.usages[2]: Duplicate value: "any"',
  ],
  "another kind of PEM": [
    { "spec.request": pem("CERTIFICATE") },
    `spec.request: Invalid value: "${pem("CERTIFICATE")}": PEM block type must be CERTIFICATE REQUEST`,
  ],
  "a request that ends too early": [
    { "spec.request": truncated(20) },
    `spec.request: Invalid value: "${truncated(20)}": asn1: syntax error: data truncated`,
  ],
  "a request with something behind it": [
    { "spec.request": pem("CERTIFICATE REQUEST", "MAAwAA==") },
    `spec.request: Invalid value: "${pem("CERTIFICATE REQUEST", "MAAwAA==")}": asn1: syntax error: trailing data`,
  ],
  "a request with nothing in it": [
    { "spec.request": pem("CERTIFICATE REQUEST", "MAA=") },
    `spec.request: Invalid value: "${pem("CERTIFICATE REQUEST", "MAA=")}": asn1: syntax error: sequence truncated`,
  ],
  "a request longer than any that means something": [
    { "spec.request": long },
    `spec.request: Invalid value: "${long}": may not be more than 65536 bytes`,
  ],
  "no usage": [{ "spec.usages": [] }, "spec.usages: Required value"],
  "a usage twice": [{ "spec.usages": ["any", "any"] }, 'spec.usages[1]: Duplicate value: "any"'],
  "a signer without a path": [
    { "spec.signerName": "example.com" },
    "spec.signerName: Invalid value: \"example.com\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
  ],
  "a signer of one part": [
    { "spec.signerName": "example/serving" },
    'spec.signerName: Invalid value: "example": should be a domain with at least two segments separated by dots',
  ],
  "a short life": [
    { "spec.expirationSeconds": 599 },
    "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
  ],
});

const decided = (...types: string[]) => ({ "status.conditions": types.map((type) => ({ type, status: "True" })) });
updateTests(CertificateSigningRequest, csr, {
  "an approval past its subresource": [
    decided("Approved"),
    'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
  ],
  "a certificate past its subresource": [
    { "status.certificate": pem("CERTIFICATE") },
    "status.certificate: Forbidden: updates may not set certificate content",
  ],
});

test("a signer brings a certificate once, and takes no decision back", () => {
  const problems = (now: Record<string, unknown>, old: Record<string, unknown> = {}) =>
    statusProblemsOf(CertificateSigningRequest, changed(csr, now), changed(csr, old));
  assert.deepEqual(problems({ "status.certificate": pem("CERTIFICATE") }), []);
  assert.deepEqual(problems({ "status.certificate": pem("KEY") }), [
    'status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "KEY"',
  ]);
  assert.deepEqual(problems({}, decided("Approved")), [
    'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
  ]);
  assert.deepEqual(problems(decided("Approved", "Denied"), decided("Approved", "Denied")), []);
  assert.deepEqual(problems({ "status.conditions": [{ type: "Failed", status: "False" }] }), [
    'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
  ]);
});

test("a row of a request", () => {
  const issued = changed(csr, {
    ...decided("Approved"),
    "status.certificate": "AAAA",
    "spec.username": "ann",
    "spec.expirationSeconds": 3600,
  });
  assert.deepEqual(cellsOf(CertificateSigningRequest, issued), [
    "example",
    "60s",
    "example.com/serving",
    "ann",
    "60m",
    "Approved,Issued",
  ]);
});
