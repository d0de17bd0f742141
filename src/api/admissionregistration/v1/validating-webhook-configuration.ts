import { type Infer, int32, list, ref, resource, string, struct } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { MatchCondition, RuleWithOperations } from "./match.ts";
import { WebhookClientConfig } from "./webhook.ts";

export const ValidatingWebhook = struct("admissionregistration/v1.ValidatingWebhook", {
  name: string(1).required(),
  clientConfig: ref(2, WebhookClientConfig).required(),
  rules: list(3, RuleWithOperations),
  failurePolicy: string(4).oneOf("Fail", "Ignore").pointer().default("Fail"),
  matchPolicy: string(9).oneOf("Equivalent", "Exact").pointer().default("Equivalent"),
  namespaceSelector: ref(5, LabelSelector).pointer().default({}),
  objectSelector: ref(10, LabelSelector).pointer().default({}),
  sideEffects: string(6).oneOf("None", "NoneOnDryRun", "Some", "Unknown").pointer().required().omitEmpty(),
  timeoutSeconds: int32(7).pointer().default(10),
  admissionReviewVersions: list(8, "string").required(),
  matchConditions: list(11, MatchCondition).keyedBy("name"),
});
export interface ValidatingWebhook extends Infer<typeof ValidatingWebhook> {}

export const ValidatingWebhookConfiguration = resource({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "",
  fields: {
    webhooks: list(2, ValidatingWebhook).keyedBy("name"),
  },
});
export interface ValidatingWebhookConfiguration extends Infer<typeof ValidatingWebhookConfiguration> {}
