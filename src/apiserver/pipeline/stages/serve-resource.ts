// What the stages before lead to: a verb on a stored resource, a subresource with code of its own, or a resource that is only code.
import type { Clock } from "#base/clock.ts";
import { type Soon, soon } from "#base/soon.ts";
import type { AnyKind } from "#schema/kind.ts";
import { type ApiRequest, type ApiResponse, type RequestVerb, requestWith } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import { methodNotAllowed, unknownPath } from "#wire/status.ts";
import { isWebSocketRequest } from "#wire/streams/websocket.ts";
import type { Resources } from "../../resources.ts";
import type { ResponseForm } from "../../response/form.ts";
import { refuseFormOfLists } from "../../response/shape.ts";
import { watchMessages } from "../../response/watch-bytes.ts";
import { checkRoute } from "../../routes.ts";
import { isStored } from "../../served/served-apis.ts";
import type { VirtualResource } from "../../served-resource.ts";
import { verbs } from "../../verbs/verbs.ts";
import { WatchSocket } from "../../watch-socket.ts";
import type { Call, CallAnswer } from "../call.ts";
import type { Stage } from "../pipeline.ts";

export const serveResourceStage = (resources: Resources, clock: Clock): Stage => ({
  name: "serve resource",
  inProcess: true,
  pass(call): Soon<CallAnswer | undefined> {
    const { over, request, warnings } = call;
    if (!request) return undefined;
    if (request.verb === "watch" && over && isWebSocketRequest(over.http))
      return watchBySocket(call, over.http, resources, clock);
    return soon(serve(resources, request, call.wanted), (response) => warnings.in(response));
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
  const response = warnings.in(await serve(resources, requestWith(request, { signal: socket.signal })));
  if (response.type !== "watch") return response;
  return { type: "http", response: await socket.answer(watchMessages(response, wanted, clock)) };
}

const answersWithObject: ReadonlySet<RequestVerb> = new Set(["create", "update", "patch"]);

/** Parts of this process have passed no route stage, so the route is checked here as well. */
function serve(resources: Resources, request: ApiRequest, wanted?: ResponseForm): Soon<ApiResponse> {
  const { subresource, verb } = request;
  const api = resources.at(request);
  checkRoute(api?.kind, request, verb);
  if (!api) throw unknownPath();
  warnOfAge(api.kind, request);
  // Upstream stores the object and says afterwards that it cannot show it; here nothing is stored that is answered with a refusal.
  if (wanted?.isOfLists && answersWithObject.has(verb)) refuseFormOfLists(api.kind, wanted);
  if (!isStored(api)) return answerByCode(api, request);
  if (subresource === undefined || subresource === "status") return verbs[verb](request, api);
  const handler = api.subresources[subresource];
  if (!handler) throw unknownPath();
  return handler(request, api);
}

function answerByCode({ verbs: handlers }: VirtualResource, request: ApiRequest): Promise<ApiResponse> {
  const handler = handlers[request.verb];
  if (!handler) throw methodNotAllowed();
  return handler(request);
}

function warnOfAge({ deprecated, apiVersion, kind }: AnyKind, { warn }: ApiRequest): void {
  if (!deprecated) return;
  if ("warning" in deprecated) {
    warn?.(deprecated.warning);
    return;
  }
  const { since, use } = deprecated;
  warn?.(`${apiVersion} ${kind} is deprecated in ${since}+${use === undefined ? "" : `; use ${use}`}`);
}
