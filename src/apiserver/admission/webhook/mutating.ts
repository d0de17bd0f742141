// Asks mutating webhooks, one after the other: each sees what those before it have made of the object.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go.
import { MutatingWebhookConfiguration } from "#api/admissionregistration/v1/mutating-webhook-configuration.ts";
import type { CredentialsOf } from "../../webhook/client.ts";
import { ReviewedRequest } from "../matching/reviewed-request.ts";
import { type AdmissionPlugin, admissionPlugin } from "../plugin.ts";
import type { AdmissionServer } from "../server.ts";
import { invoke, type WebhookCaller } from "./call.ts";
import { isExempt } from "./exempt.ts";
import { type AdmissionHook, hooksOf } from "./hooks.ts";
import { matchHook } from "./match-hook.ts";
import { webhookMetricsOf } from "./metrics.ts";
import { patchObject } from "./patch-object.ts";
import { perServer } from "./per-server.ts";
import { WebhookRounds } from "./webhook-rounds.ts";

const name = "MutatingAdmissionWebhook";
const mutationPrefix = "mutation.webhook.admission.k8s.io/";

export function mutatingAdmissionWebhook(credentialsOf?: CredentialsOf): AdmissionPlugin {
  const sourceOf = perServer((server: AdmissionServer) => ({
    hooks: server.derived(MutatingWebhookConfiguration, hooksOf),
    caller: {
      type: "admit",
      metrics: webhookMetricsOf(server),
      credentialsOf,
    } satisfies WebhookCaller,
  }));
  return admissionPlugin({
    name,
    on: { verbs: ["create", "update", "delete", "connect"], through: ["*"] },
    mutate(asked) {
      const { hooks, caller } = sourceOf(asked.server);
      const all = hooks();
      if (all.length === 0 || isExempt(asked.kind)) return undefined;
      return askEach(caller, new ReviewedRequest(asked), all);
    },
  });
}

async function askEach(
  caller: WebhookCaller,
  request: ReviewedRequest,
  hooks: readonly AdmissionHook[],
): Promise<undefined> {
  const { asked } = request;
  const { reinvocation } = asked;
  const rounds = (reinvocation.memory.get(name) as WebhookRounds | undefined) ?? new WebhookRounds();
  reinvocation.memory.set(name, rounds);
  if (reinvocation.isSecondRound) rounds.beginAgain(asked.object);
  for (const [i, hook] of hooks.entries()) {
    const matched = await matchHook(hook, request);
    // A webhook that did not match in the first round is not asked in the second either.
    if (!matched || (reinvocation.isSecondRound && !rounds.mayAskAgain(hook.id))) continue;
    const place = `round_${reinvocation.isSecondRound ? 1 : 0}_index_${i}`;
    const { configuration, webhook } = hook;
    let changed: boolean | undefined;
    try {
      changed = await invoke(caller, request, { hook, matched }, (answer) =>
        patchObject(request, matched, hook, answer, place),
      );
    } finally {
      const noted = { configuration, webhook: webhook.name, mutated: changed ?? false };
      asked.annotate(mutationPrefix + place, JSON.stringify(noted));
    }
    if (changed === undefined) asked.annotate(`failed-open.${mutationPrefix}${place}`, webhook.name);
    if (changed) {
      rounds.changed();
      reinvocation.isWanted = true;
    }
    if ("reinvocationPolicy" in webhook && webhook.reinvocationPolicy === "IfNeeded") rounds.asked(hook.id);
  }
  rounds.end(asked.object);
  return undefined;
}
