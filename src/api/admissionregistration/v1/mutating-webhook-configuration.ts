import { type Infer, int32, list, ref, resource, string, struct } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { MatchCondition, RuleWithOperations } from "./match.ts";
import { WebhookClientConfig } from "./webhook.ts";

export const MutatingWebhook = struct("admissionregistration/v1.MutatingWebhook", {
  name: string(1).required(),
  clientConfig: ref(2, WebhookClientConfig).required(),
  rules: list(3, RuleWithOperations),
  failurePolicy: string(4).oneOf("Fail", "Ignore").pointer().default("Fail"),
  matchPolicy: string(9).oneOf("Equivalent", "Exact").pointer().default("Equivalent"),
  namespaceSelector: ref(5, LabelSelector).pointer().default({}),
  objectSelector: ref(11, LabelSelector).pointer().default({}),
  sideEffects: string(6).oneOf("None", "NoneOnDryRun", "Some", "Unknown").pointer().required().omitEmpty(),
  timeoutSeconds: int32(7).pointer().default(10),
  admissionReviewVersions: list(8, "string").required(),
  reinvocationPolicy: string(10).oneOf("IfNeeded", "Never").pointer().default("Never"),
  matchConditions: list(12, MatchCondition).keyedBy("name"),
});
export interface MutatingWebhook extends Infer<typeof MutatingWebhook> {}

export const MutatingWebhookConfiguration = resource({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "",
  fields: {
    webhooks: list(2, MutatingWebhook).keyedBy("name"),
  },
});
export interface MutatingWebhookConfiguration extends Infer<typeof MutatingWebhookConfiguration> {}
