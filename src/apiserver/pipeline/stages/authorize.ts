import { type AuthorizationVerdict, type Authorize, type Question, refusal } from "#serving/authorization.ts";
import { type Call, questionOf } from "../call.ts";
import type { Stage } from "../pipeline.ts";

/** May they. Throws ApiError 403. */
export const authorizeStage = (authorize: Authorize): Stage => ({
  name: "authorize",
  inProcess: true,
  pass(call) {
    const question = questionOf(call);
    const verdict = authorize(question);
    if (verdict instanceof Promise) return verdict.then((late) => passed(call, question, late));
    return passed(call, question, verdict);
  },
});

function passed({ trace, audit }: Call, question: Question, verdict: AuthorizationVerdict): undefined {
  audit?.authorized(verdict);
  if (verdict.decision !== "allow") throw refusal(question, verdict.reason);
  trace?.mark("authorize");
}
