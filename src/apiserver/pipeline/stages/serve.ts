// What the other stages lead to: a path that is no resource, a connection, or a verb on a resource.

import type { Clock } from "#base/clock.ts";
import { type Soon, soon } from "#base/soon.ts";
import type { Authorize } from "#serving/authorization.ts";
import { requestWith } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import { forbidden, methodNotAllowed, unknownPath } from "#wire/status.ts";
import { isWebSocketRequest } from "#wire/streams/websocket.ts";
import { type ConnectionOptions, type ConnectRequest, connect } from "../../connect/connect.ts";
import type { PathHandler } from "../../paths/paths.ts";
import { verbOfMethod } from "../../request-path.ts";
import type { Resources } from "../../resources.ts";
import { pageNotFound, watchMessages } from "../../respond.ts";
import { WatchSocket } from "../../watch-socket.ts";
import type { Call, CallAnswer, CallTarget } from "../call.ts";
import type { Stage } from "../pipeline.ts";
import { checkTimeout } from "./check-timeout.ts";

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
  pass: ({ over, target, user }) =>
    over && target.type === "connection"
      ? serveConnection(target, { ...target, http: over.http, user }, options)
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

export const serveResourceStage = (resources: Resources, clock: Clock): Stage => ({
  name: "serve resource",
  inProcess: true,
  pass(call): Soon<CallAnswer | undefined> {
    const { over, request, warnings } = call;
    if (!request) return undefined;
    if (request.verb === "watch" && over && isWebSocketRequest(over.http))
      return watchBySocket(call, over.http, resources, clock);
    return soon(resources.handle(request), (response) => warnings.in(response));
  },
});

async function watchBySocket(
  call: Call,
  http: HttpRequest,
  resources: Resources,
  clock: Clock,
): Promise<CallAnswer | undefined> {
  const { request, wanted, warnings } = call;
  if (!request || !wanted) return undefined;
  const socket = new WatchSocket(http);
  const response = warnings.in(await resources.handle(requestWith(request, { signal: socket.signal })));
  if (response.type !== "watch") return response;
  return { type: "http", response: await socket.answer(watchMessages(response, wanted, clock)) };
}
