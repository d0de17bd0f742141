// What no webhook and no policy is asked about: what configures them. Someone must be able to repair a webhook that refuses everything.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules/rules.go.
import { MutatingAdmissionPolicy } from "#api/admissionregistration/v1/mutating-admission-policy.ts";
import { MutatingAdmissionPolicyBinding } from "#api/admissionregistration/v1/mutating-admission-policy-binding.ts";
import { MutatingWebhookConfiguration } from "#api/admissionregistration/v1/mutating-webhook-configuration.ts";
import { ValidatingAdmissionPolicy } from "#api/admissionregistration/v1/validating-admission-policy.ts";
import { ValidatingAdmissionPolicyBinding } from "#api/admissionregistration/v1/validating-admission-policy-binding.ts";
import { ValidatingWebhookConfiguration } from "#api/admissionregistration/v1/validating-webhook-configuration.ts";
import type { AnyKind } from "#schema/kind.ts";

const configuring: ReadonlySet<AnyKind> = new Set<AnyKind>([
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
]);

export const isExempt = (kind: AnyKind): boolean => configuring.has(kind);
