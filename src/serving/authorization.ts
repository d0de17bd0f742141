// May they? What is asked, what is answered, and how a refusal reads.
import type { ApiError } from "#base/errors.ts";
import type { FieldRequirement } from "#schema/field-selector.ts";
import type { ResourceAddress, User } from "#wire/api-request.ts";
import { forbidden } from "#wire/status.ts";

export type Question = { readonly user: User; readonly verb: string } & (
  | ({
      readonly type: "resource";
      /** What a list, watch or deletion of many is narrowed to. */
      readonly fieldSelector?: readonly FieldRequirement[] | undefined;
      /** The same by labels, as text. */
      readonly labelSelector?: string | undefined;
    } & ResourceAddress)
  | { readonly type: "path"; readonly path: string }
);

/** At once where nothing has to be waited for: every request asks. */
export type Authorize = (question: Question) => Promise<AuthorizationVerdict> | AuthorizationVerdict;

export interface AuthorizationVerdict {
  readonly decision: "allow" | "deny" | "none";
  readonly reason?: string;
}

/** Throws ApiError 403 unless it is allowed. */
export function permit(authorize: Authorize, question: Question): Promise<void> | undefined {
  const verdict = authorize(question);
  if (verdict instanceof Promise) return verdict.then((late) => refuseUnlessAllowed(question, late));
  refuseUnlessAllowed(question, verdict);
  return undefined;
}

function refuseUnlessAllowed(question: Question, { decision, reason }: AuthorizationVerdict): void {
  if (decision !== "allow") throw refusal(question, reason);
}

export function refusal(question: Question, reason: string | undefined): ApiError {
  const why = `${refusalText(question)}${reason ? `: ${reason}` : ""}`;
  if (question.type === "path") return forbidden(undefined, "", why);
  return forbidden({ group: question.group, resource: question.resource }, question.name ?? "", why);
}

/** Upstream's words for a refusal, which people and tools search for. */
function refusalText(question: Question): string {
  const { user, verb } = question;
  const who = `User ${JSON.stringify(user.name)} cannot`;
  if (question.type === "path") return `${who} ${verb} path ${JSON.stringify(question.path)}`;
  const { group, resource, subresource, namespace } = question;
  const what = `resource ${JSON.stringify(subresource ? `${resource}/${subresource}` : resource)} in API group ${JSON.stringify(group)}`;
  return `${who} ${verb} ${what} ${!namespace ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`}`;
}
