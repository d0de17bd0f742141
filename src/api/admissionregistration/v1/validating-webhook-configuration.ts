import { ageColumn, nameColumn } from "#schema/columns.ts";
import { type Infer, int32, list, ref, resource, string, struct } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { checkWebhook, checkWebhookNames } from "./checks.ts";
import { MatchCondition, RuleWithOperations } from "./match.ts";
import { WebhookClientConfig } from "./webhook.ts";

export const ValidatingWebhook = struct(
  "admissionregistration/v1.ValidatingWebhook",
  {
    name: string(1, "Name of the webhook, as a domain of three parts or more.").nonEmpty().required(),
    clientConfig: ref(2, WebhookClientConfig, "Where to call it.").required(),
    rules: list(3, RuleWithOperations, "Which requests it is asked about."),
    failurePolicy: string(4, "What to do when it cannot be asked: Fail the request or Ignore it.")
      .oneOf("Fail", "Ignore")
      .pointer()
      .default("Fail"),
    matchPolicy: string(9, "Whether other versions of a resource match too (Equivalent) or not (Exact).")
      .oneOf("Equivalent", "Exact")
      .pointer()
      .default("Equivalent"),
    namespaceSelector: ref(5, LabelSelector, "Asks only about objects of namespaces with these labels.")
      .pointer()
      .default({}),
    objectSelector: ref(10, LabelSelector, "Asks only about objects with these labels.").pointer().default({}),
    sideEffects: string(6, "Whether calling it has effects elsewhere: None, or NoneOnDryRun.")
      .known("None", "NoneOnDryRun", "Some", "Unknown")
      .pointer()
      .required("must specify one of None, NoneOnDryRun")
      .omitEmpty(),
    timeoutSeconds: int32(7, "How long to wait for its answer.").pointer().default(10),
    admissionReviewVersions: list(8, "string", "Versions of the question it understands, the best first.").required(),
    matchConditions: list(11, MatchCondition, "Asks only if all of these hold.").keyedBy("name"),
  },
  {
    *check(hook) {
      yield* checkWebhook(hook);
    },
  },
);
export interface ValidatingWebhook extends Infer<typeof ValidatingWebhook> {}

export const ValidatingWebhookConfiguration = resource({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "Webhooks that are asked whether requests may pass.",
  fields: {
    webhooks: list(2, ValidatingWebhook, "The webhooks.").keyedBy("name"),
  },
  columns: [
    nameColumn,
    {
      name: "Webhooks",
      type: "integer",
      doc: "How many webhooks there are.",
      cell: ({ webhooks = [] }) => webhooks.length,
    },
    ageColumn,
  ],
  *check({ webhooks }, old) {
    yield* checkWebhookNames(webhooks, old && (old.webhooks ?? []));
  },
});
export interface ValidatingWebhookConfiguration extends Infer<typeof ValidatingWebhookConfiguration> {}
