// What is no verb on a resource: a path of another kind, and a connection.

import type { Authorize } from "#serving/authorization.ts";
import type { HttpRequest } from "#wire/http.ts";
import { forbidden, methodNotAllowed, unknownPath } from "#wire/status.ts";
import { type ConnectionOptions, type ConnectRequest, connect } from "../../connect/connect.ts";
import type { PathHandler } from "../../paths/paths.ts";
import { verbOfMethod } from "../../request-path.ts";
import type { Resources } from "../../resources.ts";
import { pageNotFound } from "../../response/respond.ts";
import type { Call, CallAnswer, CallTarget } from "../call.ts";
import type { Stage } from "../pipeline.ts";
import { checkTimeout } from "./locate.ts";

export const servePathStage = (paths: PathHandler, resources: Resources): Stage => ({
  name: "serve path",
  pass: (call) =>
    call.over && call.target.type === "path" ? servePath(call, call.over.http, paths, resources) : undefined,
});

async function servePath(call: Call, http: HttpRequest, paths: PathHandler, resources: Resources): Promise<CallAnswer> {
  if (http.method !== "GET" && http.method !== "HEAD" && !healthPath.test(http.path)) throw methodNotAllowed();
  checkTimeout(http);
  const response = await paths(http);
  if (response) {
    if (countedPaths.has(http.path)) call.countedPath = http.path;
    return { type: "http", response };
  }
  const [, api, group = ""] = http.path.split("/");
  if (api === "api" || (api === "apis" && resources.hasGroup(group))) throw unknownPath();
  return { type: "http", response: pageNotFound };
}

/** Health may be asked with any method. */
const healthPath = /^\/(healthz|livez|readyz)(\/|$)/;

/** Other paths are not counted: a label per path would grow without bound. */
const countedPaths: ReadonlySet<string> = new Set(
  "/healthz /livez /readyz /metrics /metrics/slis /version /api /apis /openapi/v2 /openapi/v3".split(" "),
);

export interface ConnectionStageOptions {
  readonly resources: Resources;
  readonly connections: ConnectionOptions;
  readonly authorize: Authorize;
}

export const serveConnectionStage = (options: ConnectionStageOptions): Stage => ({
  name: "serve connection",
  pass: ({ over, target, user, audit }) =>
    over && target.type === "connection"
      ? serveConnection(target, { ...target, http: over.http, user, audit }, options)
      : undefined,
});

async function serveConnection(
  { connector, address }: CallTarget & { readonly type: "connection" },
  request: ConnectRequest,
  { resources, connections, authorize }: ConnectionStageOptions,
): Promise<CallAnswer> {
  const verb = verbOfMethod(request.http.method);
  if (verb !== "create" && connector.needsCreate?.(address)) {
    const { decision, reason = "" } = await authorize({
      ...address,
      type: "resource",
      user: request.user,
      verb: "create",
    });
    if (decision !== "allow") throw forbidden(address, address.name ?? "", reason);
  }
  const find = (resource: string) => resources.find("", "v1", resource);
  return { type: "http", response: await connect(connector, request, find, connections) };
}
