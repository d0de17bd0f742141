// What only this server tells: why things are as they are.
import type { HttpRequest, HttpResponse } from "#wire/http.ts";
import { badRequest } from "#wire/status.ts";
import type { Causality } from "../causality.ts";
import { plainJson } from "./json.ts";

/** Undefined if the pod does not wait for a node. */
export type SchedulingOf = (pod: { readonly namespace: string; readonly name: string }) => object | undefined;

/** `/knarr/v1/scheduling?namespace=default&name=web`: what the scheduler said of each node when it last tried to place the pod. */
export function schedulingAttempt(request: HttpRequest, schedulingOf: SchedulingOf): HttpResponse {
  const namespace = request.query.get("namespace");
  const name = request.query.get("name");
  if (!namespace || !name) throw badRequest("say which pod: ?namespace=default&name=web");
  return plainJson(request, { attempt: schedulingOf({ namespace, name }) });
}

/** `/knarr/v1/trace?resource=deployments.apps&namespace=default&name=web` */
export function writesOfObject(request: HttpRequest, causality: Causality): HttpResponse {
  const { query } = request;
  const resource = query.get("resource");
  const name = query.get("name");
  if (!resource || !name)
    throw badRequest(
      "say which object: ?resource=deployments.apps&namespace=default&name=web, or /knarr/v1/trace/TRACE-ID",
    );
  return plainJson(request, { writes: causality.ofObject(resource, query.get("namespace") ?? "", name) });
}

/** `/knarr/v1/trace/TRACE-ID` */
export const writesOfRequest = (request: HttpRequest, causality: Causality, traceId: string): HttpResponse =>
  plainJson(request, { writes: causality.ofRequest(traceId) });
