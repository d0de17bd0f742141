// Asks a server by SubjectAccessReview, and believes what it says for a while. Follows k8s.io/apiserver/plugin/pkg/authorizer/webhook.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { TtlCache } from "#client/ttl-cache.ts";
import type { FieldRequirement } from "#schema/field-selector.ts";
import { parseSelector, type Requirement, SelectorError } from "#schema/selector.ts";
import type { AuthorizationVerdict, Question } from "#serving/authorization.ts";
import type { ReviewWebhook } from "../webhook/review.ts";
import type { Authorizer } from "./authorizer.ts";

/** Whether a question is one for the webhook. Throws where that cannot be said. */
export type MatchCondition = (spec: AccessReviewSpec) => boolean;

export interface WebhookAuthorizerOptions {
  readonly name: string;
  readonly review: ReviewWebhook;
  readonly version: "v1" | "v1beta1";
  readonly allowedMs: number;
  readonly deniedMs: number;
  /** What a webhook that cannot be asked means: `deny`, or nothing. */
  readonly onFailure: "deny" | "none";
  readonly matchConditions: readonly MatchCondition[];
  readonly clock: Clock;
  readonly log: Log;
}

export interface AccessReviewSpec {
  readonly resourceAttributes?: object;
  readonly nonResourceAttributes?: object;
  readonly user: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly uid?: string;
}

/** Longer questions are asked each time: nobody may fill the memory with them. */
const longestQuestion = 10_000;

export function webhookAuthorizer(options: WebhookAuthorizerOptions): Authorizer {
  const { name, matchConditions, onFailure, clock, log } = options;
  const verdicts = new TtlCache<AuthorizationVerdict>(clock);
  const ask = (spec: AccessReviewSpec): Promise<AuthorizationVerdict> => {
    const key = JSON.stringify(spec);
    if (key.length > longestQuestion) return reviewed(options, spec);
    return verdicts.get(
      key,
      () => reviewed(options, spec),
      ({ decision }) => (decision === "allow" ? options.allowedMs : options.deniedMs),
    );
  };
  return async (question) => {
    const spec = specOf(question);
    try {
      for (const matches of matchConditions) if (!matches(spec)) return { decision: "none" };
      return await ask(spec);
    } catch (error) {
      log.warn("an authorization webhook cannot be asked", { webhook: name, error: explain(error) });
      return { decision: onFailure, reason: `the authorization webhook ${JSON.stringify(name)} cannot be asked` };
    }
  };
}

async function reviewed(
  { review, version }: WebhookAuthorizerOptions,
  spec: AccessReviewSpec,
): Promise<AuthorizationVerdict> {
  const { groups, ...others } = spec;
  const { status } = await review({
    kind: "SubjectAccessReview",
    apiVersion: `authorization.k8s.io/${version}`,
    metadata: {},
    spec: version === "v1" ? spec : { ...others, group: groups },
  });
  const reason = typeof status.reason === "string" ? status.reason : "";
  if (status.allowed === true && status.denied === true)
    throw new Error("webhook subject access review returned both allow and deny response");
  const decision = status.denied === true ? "deny" : status.allowed === true ? "allow" : "none";
  return { decision, ...(reason && { reason }) };
}

export function specOf(question: Question): AccessReviewSpec {
  const { user, verb } = question;
  const about =
    question.type === "path"
      ? { nonResourceAttributes: { path: question.path, verb } }
      : { resourceAttributes: attributesOf(question) };
  return {
    ...about,
    user: user.name,
    groups: user.groups,
    ...(user.extra && { extra: user.extra }),
    ...(user.uid && { uid: user.uid }),
  };
}

function attributesOf(question: Extract<Question, { type: "resource" }>): object {
  const { verb, namespace, group, version, resource, subresource, name, fieldSelector, labelSelector } = question;
  const labels = labelSelector ? labelRequirements(labelSelector) : [];
  return {
    ...(namespace && { namespace }),
    verb,
    ...(group && { group }),
    version,
    resource,
    ...(subresource && { subresource }),
    ...(name && { name }),
    ...(fieldSelector && fieldSelector.length > 0 && { fieldSelector: { requirements: fieldSelector.map(ofField) } }),
    ...(labels.length > 0 && { labelSelector: { requirements: labels } }),
  };
}

const ofField = ({ field, operator, value }: FieldRequirement): object => ({
  key: field,
  operator: operator === "=" ? "In" : "NotIn",
  values: [value],
});

/** What cannot be read narrows nothing; what is wrong with it is said when it is used. */
function labelRequirements(text: string): readonly object[] {
  try {
    return parseSelector(text).flatMap(ofLabel);
  } catch (error) {
    if (error instanceof SelectorError) return [];
    throw error;
  }
}

const labelOperators: ReadonlyMap<string, string> = new Map([
  ["=", "In"],
  ["==", "In"],
  ["in", "In"],
  ["!=", "NotIn"],
  ["notin", "NotIn"],
  ["exists", "Exists"],
  ["!", "DoesNotExist"],
]);

function ofLabel({ key, operator, values }: Requirement): readonly object[] {
  const name = labelOperators.get(operator);
  return name === undefined ? [] : [{ key, operator: name, ...(values.length > 0 && { values }) }];
}
