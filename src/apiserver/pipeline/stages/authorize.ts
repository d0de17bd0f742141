import { type Authorize, permit, type Question } from "#serving/authorization.ts";
import { actingUser } from "../../authentication/impersonation.ts";
import { questionAbout } from "../../authorization/authorizer.ts";
import { verbOfMethod } from "../../request-path.ts";
import type { Call, HttpCall } from "../call.ts";
import type { Stage } from "../pipeline.ts";

/** May they. Over HTTP a client may act as somebody else, which must be permitted as well. Throws ApiError 400 or 403. */
export const authorizeStage = (authorize: Authorize): Stage => ({
  name: "authorize",
  inProcess: true,
  pass(call) {
    const { over } = call;
    // Only clients that want to act as somebody else sent headers that were taken out.
    if (over && over.sent !== over.http) return authorizeActing(authorize, call, over);
    const pending = permit(authorize, questionOf(call));
    if (!pending) return passed(call);
    return pending.then(() => passed(call));
  },
});

async function authorizeActing(authorize: Authorize, call: Call, { sent }: HttpCall): Promise<undefined> {
  const question = questionOf(call);
  call.user = await actingUser(sent, question, authorize);
  await permit(authorize, { ...question, user: call.user });
  return passed(call);
}

function passed({ trace }: Call): undefined {
  trace?.mark("authorize");
}

function questionOf({ over, request, user, target }: Call): Question {
  switch (target.type) {
    case "path":
      return { type: "path", user, verb: over?.http.method.toLowerCase() ?? "", path: over?.http.path ?? "" };
    case "connection":
      return { ...target.address, type: "resource", user, verb: verbOfMethod(over?.http.method ?? "") };
    case "resource": {
      const { address, verb = verbOfMethod(over?.http.method ?? "") } = target;
      return questionAbout(address, verb, user, over?.http.query ?? request?.query ?? new URLSearchParams());
    }
  }
}
