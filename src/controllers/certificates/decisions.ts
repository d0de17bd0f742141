// What was decided about a request.
// Upstream: pkg/controller/certificates/certificate_controller_utils.go.
import type { CertificateSigningRequest } from "#api/certificates/v1/certificate-signing-request.ts";

export type Decision = "Approved" | "Denied" | "Failed";

export const hasDecision = ({ status }: CertificateSigningRequest, type: Decision): boolean =>
  (status.conditions ?? []).some((condition) => condition.type === type);
