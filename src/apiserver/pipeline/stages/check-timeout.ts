import { DurationError, parseDuration } from "#base/duration.ts";
import type { HttpRequest } from "#wire/http.ts";
import { badRequest } from "#wire/status.ts";
import type { Stage } from "../pipeline.ts";

/** How long a client is ready to wait. No answer takes as long as any client would wait, so the parameter is only checked. */
export const checkTimeoutStage: Stage = {
  name: "check timeout",
  pass({ over, target }) {
    if (over && target.type === "resource" && target.verb !== "watch") checkTimeout(over.http);
    return undefined;
  },
};

export function checkTimeout({ query }: HttpRequest): void {
  const timeout = query.get("timeout");
  if (!timeout) return;
  try {
    parseDuration(timeout);
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw badRequest(`invalid timeout specified in the request URL - ${error.message}`);
  }
}
