// One call of one webhook: what it is asked, what its answer means, and what becomes of the request when it cannot be asked.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go and
// staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/validating/dispatcher.go.
import type { ApiError } from "#base/errors.ts";
import { quote } from "#base/quote.ts";
import type { Soon } from "#base/soon.ts";
import { badRequest, internalError, serviceUnavailable } from "#wire/status.ts";
import { type CredentialsOf, WebhookCallError } from "../../webhook/client.ts";
import type { MatchedVersion, ReviewedRequest } from "../matching/reviewed-request.ts";
import type { AdmissionHook } from "./hooks.ts";
import type { WebhookMetrics, WebhookType } from "./metrics.ts";
import { denial, InvalidReview, type ReviewAnswer, readReview, reviewBody, reviewVersionOf } from "./review.ts";

/** A webhook and the version in which it is asked about a request. */
export interface HookInvocation {
  readonly hook: AdmissionHook;
  readonly matched: MatchedVersion;
}

export interface WebhookCaller {
  readonly type: WebhookType;
  readonly metrics: WebhookMetrics | undefined;
  readonly credentialsOf: CredentialsOf | undefined;
}

/** A webhook could not be asked, or did not answer as it should: what happens then is for its failure policy. */
export class CallingFailed extends Error {
  override readonly name = "CallingFailed";
  readonly code: number;

  constructor(hook: string, why: string, status: ApiError, options?: ErrorOptions) {
    super(`failed calling webhook ${quote(hook)}: ${why}`, options);
    this.code = status.code;
  }
}

/** A webhook said no. */
class Denied extends Error {
  readonly refusal: ApiError;

  constructor(refusal: ApiError) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/**
 * Asks a webhook and lets `use` do with its answer what is to be done. Answers undefined where it failed and that is to be ignored. Throws
 * ApiError where it refuses, or fails and that is not to be ignored.
 */
export async function invoke<T>(
  caller: WebhookCaller,
  request: ReviewedRequest,
  invocation: HookInvocation,
  use: (answer: ReviewAnswer) => Soon<T>,
): Promise<T | undefined> {
  const { type, metrics } = caller;
  const { name, failurePolicy } = invocation.hook.webhook;
  const { clock } = request.asked.server;
  const start = clock.elapsed();
  const outcome = (code: number, rejected: boolean) => {
    const { operation } = request;
    const noted = { name, type, operation, code, rejected, ms: clock.elapsed() - start };
    metrics?.called(noted);
    return noted;
  };
  try {
    const used = await use(await ask(caller, request, invocation));
    outcome(200, false);
    return used;
  } catch (error) {
    if (request.asked.signal.aborted) throw error;
    if (error instanceof Denied) {
      metrics?.rejected(outcome(error.refusal.code, true), "no_error");
      throw error.refusal;
    }
    if (!(error instanceof CallingFailed)) {
      metrics?.rejected(outcome(0, true), "apiserver_internal_error");
      throw error;
    }
    const ignores = failurePolicy === "Ignore";
    const noted = outcome(error.code, !ignores);
    if (!ignores) {
      metrics?.rejected(noted, "calling_webhook_error");
      throw internalError(error.message);
    }
    metrics?.failedOpen(name, type);
    return undefined;
  }
}

async function ask(caller: WebhookCaller, request: ReviewedRequest, invocation: HookInvocation): Promise<ReviewAnswer> {
  const { webhook } = invocation.hook;
  const { name } = webhook;
  const { asked } = request;
  if (asked.dryRun && webhook.sideEffects !== "None" && webhook.sideEffects !== "NoneOnDryRun")
    throw badRequest(`admission webhook ${quote(name)} does not support dry run`);
  const version = reviewVersionOf(webhook.admissionReviewVersions);
  if (!version) {
    const why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
    throw new CallingFailed(
      name,
      `could not create admission objects: ${why}`,
      badRequest("error creating admission objects"),
    );
  }
  const question = { uid: asked.server.random.uuid(), version, isMutating: caller.type === "admit" };
  const body = await reviewBody(question, request, invocation.matched);
  const options = {
    timeoutMs: webhook.timeoutSeconds * 1000,
    ...(caller.credentialsOf && { credentialsOf: caller.credentialsOf }),
  };
  try {
    const sent = await asked.server.webhooks.call(webhook.clientConfig, body, options, asked.signal);
    const answer = readReview(sent, question);
    for (const [key, value] of Object.entries(answer.auditAnnotations)) asked.annotate(`${name}/${key}`, value);
    for (const warning of answer.warnings) asked.warn(warning);
    if (!answer.isAllowed) throw new Denied(denial(name, answer.status));
    return answer;
  } catch (cause) {
    if (cause instanceof WebhookCallError)
      throw new CallingFailed(name, `failed to call webhook: ${cause.message}`, cause.status, { cause });
    if (!(cause instanceof InvalidReview)) throw cause;
    const status = serviceUnavailable("error validating webhook response");
    throw new CallingFailed(name, `received invalid webhook response: ${cause.message}`, status, { cause });
  }
}
