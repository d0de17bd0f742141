// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/generic/webhook.go.
import { forbidden } from "#wire/status.ts";
import type { MatchedVersion, ReviewedRequest } from "../matching/reviewed-request.ts";
import { matchConditions } from "../policy/evaluation.ts";
import { PolicyRun } from "../policy/policy-run.ts";
import type { AdmissionHook } from "./hooks.ts";

/** The version in which a webhook is to be asked about a request, if at all. Throws ApiError where that cannot be decided. */
export async function matchHook(hook: AdmissionHook, request: ReviewedRequest): Promise<MatchedVersion | undefined> {
  const matching = hook.matcher.match(request);
  const matched = matching instanceof Promise ? await matching : matching;
  if (!matched || hook.conditions.length === 0) return matched;
  const { failurePolicy } = hook.webhook;
  const result = await new PolicyRun(request).evaluate(matched, undefined, (variables) =>
    matchConditions(hook.conditions, variables, failurePolicy),
  );
  if (!("error" in result)) return result.matches ? matched : undefined;
  const { group, resource } = request.made.resource;
  throw forbidden({ group, resource }, request.name, result.error);
}
