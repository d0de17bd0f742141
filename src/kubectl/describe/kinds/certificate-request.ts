import type { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";
import { CsrError, parseCsr } from "#api/certificates/v1/request.ts";
import { DerError } from "#base/der.ts";
import { humanDuration } from "#base/duration.ts";
import { KubectlError } from "../../errors.ts";
import { labelText, timeText, writeEvents } from "../common.ts";
import { type Describer, eventsOf, subjectOf } from "../describer.ts";

export const describeCertificateRequest: Describer<CertificateSigningRequest> = async (request, context, w) => {
  const { metadata, spec } = request;
  const subject = subjectIn(spec.request);
  const events = await eventsOf(context, subjectOf({ ...request }));
  w.line(0, "Name:", metadata.name);
  w.line(0, "Labels:", labelText(metadata.labels));
  w.line(0, "Annotations:", labelText(metadata.annotations));
  w.line(0, "CreationTimestamp:", timeText(metadata.creationTimestamp));
  w.line(0, "Requesting User:", spec.username ?? "");
  if (spec.signerName) w.line(0, "Signer:", spec.signerName);
  if (spec.expirationSeconds !== undefined)
    w.line(0, "Requested Duration:", humanDuration(spec.expirationSeconds * 1000));
  w.line(0, "Status:", statusText(request));
  w.line(0, "Subject:");
  w.line(0, "", "Common Name:", subject.commonName ?? "");
  w.line(0, "", "Serial Number:", "");
  const { organizations } = subject;
  if (organizations.length > 0) w.write(`\tOrganization:\t${organizations.join("\n\t\t")}\n`);
  writeEvents(w, events, context.now);
};

function subjectIn(request: string): {
  readonly commonName: string | undefined;
  readonly organizations: readonly string[];
} {
  try {
    const { commonName, organizations } = parseCsr(request).subject;
    return { commonName, organizations };
  } catch (cause) {
    if (!(cause instanceof CsrError) && !(cause instanceof DerError)) throw cause;
    throw new KubectlError(`Error parsing CSR: ${cause.message}`, { cause });
  }
}

function statusText({ status }: CertificateSigningRequest): string {
  const types = new Set((status?.conditions ?? []).map(({ type }) => type));
  const said = [
    ...(types.has("Denied")
      ? ["Denied"]
      : types.has("Approved")
        ? ["Approved"]
        : types.has("Failed")
          ? []
          : ["Pending"]),
    ...(types.has("Failed") ? ["Failed"] : []),
    ...(status?.certificate ? ["Issued"] : []),
  ];
  return said.join(",");
}
