// Upstream: pkg/apis/certificates/validation/validation.go.
import { equal, repeats } from "#base/collections.ts";
import { dns1123Label, dns1123Subdomain } from "#schema/formats.ts";
import { duplicate, forbidden, invalid, notSupported, type Problem, required, tooLong } from "#schema/index.ts";
import type { CertificateSigningRequestCondition } from "./certificate-signing-request.ts";
import { CsrError, parseCsr } from "./request.ts";
import { checkSignature } from "./signature.ts";

/** `example.com/signer`: a domain of two parts or more, and a path. */
export function* checkSignerName(field: string, name: string): Iterable<Problem> {
  if (name === "") {
    yield required(field);
    return;
  }
  const [domain = "", path = "", ...more] = name.split("/");
  if (!name.includes("/") || more.length > 0) {
    yield invalid(field, "must be a fully qualified domain and path of the form 'example.com/signer-name'");
    return;
  }
  if (domain.length > 253) yield tooLong(field, 253);
  yield* checkLabels(field, domain, dns1123Label);
  if (!domain.includes("."))
    yield invalid(field, "should be a domain with at least two segments separated by dots", domain);
  yield* checkLabels(field, path, dns1123Subdomain);
  if (name.length > 571) yield tooLong(field, 571);
}

function* checkLabels(field: string, text: string, format: (label: string) => readonly string[]): Iterable<Problem> {
  const wrong = text.split(".").find((label) => format(label).length > 0);
  if (wrong !== undefined)
    for (const detail of format(wrong))
      yield invalid(field, `validating label ${JSON.stringify(wrong)}: ${detail}`, text);
}

/** Whether the request is one, and whole. Whether its signature is right takes time to find out: `signatureProblems`. */
export function* checkRequest(request: string): Iterable<Problem> {
  try {
    parseCsr(request);
  } catch (error) {
    if (!(error instanceof CsrError)) throw error;
    yield invalid("request", error.message, request === "" ? null : request);
  }
}

/** Whether a request was signed with the key that it is for. Of one that is not whole, `checkRequest` tells. */
export async function signatureProblems(field: string, request: unknown): Promise<readonly Problem[]> {
  if (typeof request !== "string" || [...checkRequest(request)].length > 0) return [];
  try {
    await checkSignature(parseCsr(request));
    return [];
  } catch (error) {
    if (!(error instanceof CsrError)) throw error;
    return [invalid(field, error.message, request)];
  }
}

export function* checkCertificate(certificate: string): Iterable<Problem> {
  const field = "status.certificate";
  const refuse = (detail: string) => invalid(field, detail, "<certificate data>");
  const blocks = [...decoded(certificate).matchAll(/-----BEGIN ([A-Z0-9 ]+)-----\s([^-]*)-----END \1-----/g)];
  const other = blocks.find(([, type]) => type !== "CERTIFICATE");
  if (other) yield refuse(`only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(other[1])}`);
  else if (blocks.some(([, , body]) => body?.includes(":"))) yield refuse("no PEM block headers are permitted");
  else if (blocks.length === 0) yield refuse("must contain at least one CERTIFICATE PEM block");
}

/** Bytes travel as base64; what is not base64 was refused when the object was decoded. */
const decoded = (base64: string): string => atob(base64);

type Conditions = readonly CertificateSigningRequestCondition[];
const decisions = ["Approved", "Denied", "Failed"];

export function* checkDecisions(conditions: Conditions = [], old: Conditions | undefined): Iterable<Problem> {
  const path = "status.conditions";
  const has = (list: Conditions, type: string) => list.some((condition) => condition.type === type);
  const wasBoth = old && has(old, "Approved") && has(old, "Denied");
  const isRepeated = repeats<string>();
  const decided = new Set<string>();
  for (const [i, { type, status }] of conditions.entries()) {
    if (type === "") yield required(`${path}[${i}].type`);
    const allowed = decisions.includes(type) ? ["True"] : ["False", "True", "Unknown"];
    if (status === "") yield required(`${path}[${i}].status`);
    else if (!allowed.includes(status)) yield notSupported(`${path}[${i}].status`, allowed);
    if (type === "Approved" || type === "Denied") {
      decided.add(type);
      if (!wasBoth && decided.size > 1)
        yield invalid(path, "Approved and Denied conditions are mutually exclusive", type);
    }
    if (isRepeated(type)) yield duplicate(`${path}[${i}].type`);
  }
}

/** Decisions stay; only the approval subresource makes them, and only the status subresource brings the certificate. */
export function* checkDecisionUpdate(
  conditions: Conditions = [],
  old: Conditions = [],
  through: "status" | "approval" | "object",
) {
  const of = (list: Conditions, type: string) => list.filter((condition) => condition.type === type);
  for (const type of decisions)
    if (of(conditions, type).length < of(old, type).length)
      yield forbidden("status.conditions", `updates may not remove a condition of type "${type}"`);
  if (through === "approval") return;
  for (const type of ["Approved", "Denied"]) {
    const [now, before] = [of(conditions, type), of(old, type)];
    if (now.length > before.length)
      yield forbidden("status.conditions", `updates may not add a condition of type "${type}"`);
    else if (now.length === before.length && !equal(now, before))
      yield forbidden("status.conditions", `updates may not modify a condition of type "${type}"`);
  }
}
