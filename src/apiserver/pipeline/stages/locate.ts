import { DurationError, parseDuration } from "#base/duration.ts";
import type { HttpRequest } from "#wire/http.ts";
import { badRequest } from "#wire/status.ts";
import { connectorOf } from "../../connect/connect.ts";
import { parseResourcePath, verbOf } from "../../request-path.ts";
import type { Stage } from "../pipeline.ts";

/** What the path means, and how long the client is ready to wait. Throws ApiError 400. */
export const locateStage: Stage = {
  name: "locate",
  pass(call) {
    if (!call.over) return undefined;
    const { method, path, query } = call.over.http;
    const address = parseResourcePath(path);
    if (!address) return undefined;
    const connector = connectorOf(address);
    call.target = connector
      ? { type: "connection", address, connector }
      : { type: "resource", address, verb: verbOf(method, address, query) };
    if (call.target.type === "resource" && call.target.verb !== "watch") checkTimeout(call.over.http);
    return undefined;
  },
};

/** No answer takes as long as any client would wait, so the parameter is only checked. */
export function checkTimeout({ url, query }: HttpRequest): void {
  const timeout = url.includes("timeout") ? query.get("timeout") : undefined;
  if (!timeout) return;
  try {
    parseDuration(timeout);
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw badRequest(`invalid timeout specified in the request URL - ${error.message}`);
  }
}
