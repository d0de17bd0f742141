// Asks validating webhooks, all at once.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/validating/dispatcher.go.
import { ValidatingWebhookConfiguration } from "#api/admissionregistration/v1/validating-webhook-configuration.ts";
import type { CredentialsOf } from "../../webhook/client.ts";
import { type AnyAdmissionRequest, ReviewedRequest } from "../matching/reviewed-request.ts";
import { type AdmissionPlugin, admissionPlugin } from "../plugin.ts";
import type { AdmissionServer } from "../server.ts";
import { type HookInvocation, invoke, type WebhookCaller } from "./call.ts";
import { isExempt } from "./exempt.ts";
import { type AdmissionHook, hooksOf } from "./hooks.ts";
import { matchHook } from "./match-hook.ts";
import { webhookMetricsOf } from "./metrics.ts";
import { perServer } from "./per-server.ts";

const failedOpenPrefix = "failed-open.validating.webhook.admission.k8s.io/";

export function validatingAdmissionWebhook(credentialsOf?: CredentialsOf): AdmissionPlugin {
  const sourceOf = perServer((server: AdmissionServer) => ({
    hooks: server.derived(ValidatingWebhookConfiguration, hooksOf),
    caller: {
      type: "validating",
      metrics: webhookMetricsOf(server),
      credentialsOf,
    } satisfies WebhookCaller,
  }));
  return admissionPlugin({
    name: "ValidatingAdmissionWebhook",
    on: { verbs: ["create", "update", "delete", "connect"], through: ["*"] },
    validate(asked) {
      const { hooks, caller } = sourceOf(asked.server);
      const all = hooks();
      if (all.length === 0 || isExempt(asked.kind)) return undefined;
      return askAll(caller, new ReviewedRequest(asked as AnyAdmissionRequest), all);
    },
  });
}

async function askAll(
  caller: WebhookCaller,
  request: ReviewedRequest,
  hooks: readonly AdmissionHook[],
): Promise<undefined> {
  const invocations: HookInvocation[] = [];
  for (const hook of hooks) {
    const matched = await matchHook(hook, request);
    if (matched) invocations.push({ hook, matched });
  }
  // The first that refuses is the one that is told, but all are heard: each may have something to note.
  const refusals: unknown[] = [];
  await Promise.all(
    invocations.map(async (invocation, i) => {
      try {
        const answered = await invoke(caller, request, invocation, () => true);
        if (!answered) request.asked.annotate(`${failedOpenPrefix}round_0_index_${i}`, invocation.hook.webhook.name);
      } catch (error) {
        refusals.push(error);
      }
    }),
  );
  if (refusals.length > 0) throw refusals[0];
  return undefined;
}
