import type { Authorize } from "#serving/authorization.ts";
import { actingUser } from "../../authentication/impersonation.ts";
import { type Call, type HttpCall, questionOf } from "../call.ts";
import type { Stage } from "../pipeline.ts";

/** Over HTTP a client may act as somebody else, which must be permitted. Whoever that is waits in line from here on. Throws ApiError 400 or 403. */
export const impersonateStage = (authorize: Authorize): Stage => ({
  name: "impersonate",
  pass: (call) =>
    // Only clients that want to act as somebody else, or showed a token, sent headers that were taken out.
    call.over && call.over.sent !== call.over.http ? impersonate(authorize, call, call.over) : undefined,
});

async function impersonate(authorize: Authorize, call: Call, { sent }: HttpCall): Promise<undefined> {
  const { user, constraint } = await actingUser(sent, questionOf(call), authorize);
  if (user !== call.user) call.audit?.impersonated(user, constraint);
  call.user = user;
}
