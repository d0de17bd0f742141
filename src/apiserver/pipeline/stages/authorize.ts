import { type AuthorizationVerdict, type Authorize, type Question, refusal } from "#serving/authorization.ts";
import { actingUser } from "../../authentication/impersonation.ts";
import { type Call, type HttpCall, questionOf } from "../call.ts";
import type { Stage } from "../pipeline.ts";

/** May they. Over HTTP a client may act as somebody else, which must be permitted as well. Throws ApiError 400 or 403. */
export const authorizeStage = (authorize: Authorize): Stage => ({
  name: "authorize",
  inProcess: true,
  pass(call) {
    const { over } = call;
    // Only clients that want to act as somebody else sent headers that were taken out.
    if (over && over.sent !== over.http) return authorizeActing(authorize, call, over);
    const question = questionOf(call);
    const verdict = authorize(question);
    if (verdict instanceof Promise) return verdict.then((late) => passed(call, question, late));
    return passed(call, question, verdict);
  },
});

async function authorizeActing(authorize: Authorize, call: Call, { sent }: HttpCall): Promise<undefined> {
  const { user, constraint } = await actingUser(sent, questionOf(call), authorize);
  if (user !== call.user) call.audit?.impersonated(user, constraint);
  call.user = user;
  const question = questionOf(call);
  return passed(call, question, await authorize(question));
}

function passed({ trace, audit }: Call, question: Question, verdict: AuthorizationVerdict): undefined {
  audit?.authorized(verdict);
  if (verdict.decision !== "allow") throw refusal(question, verdict.reason);
  trace?.mark("authorize");
}
