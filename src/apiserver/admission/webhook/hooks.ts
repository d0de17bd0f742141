// The webhooks of all configurations, in the order in which they are asked: by the names of the configurations, then as they stand there.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/accessors.go and
// staging/src/k8s.io/apiserver/pkg/admission/configuration/mutating_webhook_manager.go.
import type { MutatingWebhook } from "#api/admissionregistration/v1/mutating-webhook-configuration.ts";
import type { ValidatingWebhook } from "#api/admissionregistration/v1/validating-webhook-configuration.ts";
import type { ObjectMeta } from "#schema/index.ts";
import { RequestMatcher } from "../matching/request-matcher.ts";
import { type AdmissionExpression, compiledConditions } from "../policy/evaluation.ts";

/** A webhook, read once for all requests. */
export interface AdmissionHook<W extends MutatingWebhook | ValidatingWebhook = MutatingWebhook | ValidatingWebhook> {
  /** Tells it from all others. */
  readonly id: string;
  readonly configuration: string;
  readonly webhook: W;
  readonly matcher: RequestMatcher;
  readonly conditions: readonly AdmissionExpression[];
}

interface Configuration<W> {
  readonly metadata: ObjectMeta;
  readonly webhooks?: readonly W[] | undefined;
}

export const hooksOf = <W extends MutatingWebhook | ValidatingWebhook>(
  configurations: readonly Configuration<W>[],
): readonly AdmissionHook<W>[] =>
  configurations.flatMap(({ metadata: { name = "" }, webhooks = [] }) =>
    webhooks.map((webhook, i) => ({
      id: `${name}/${webhook.name}/${i}`,
      configuration: name,
      webhook,
      conditions: compiledConditions(webhook.matchConditions ?? [], false),
      matcher: new RequestMatcher({ ...webhook, rules: webhook.rules ?? [] }),
    })),
  );
