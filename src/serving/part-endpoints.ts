// What every part answers over HTTP, as upstream's controller manager, scheduler and the like do: how it is, and what it measures.
import { ApiError } from "#base/errors.ts";
import { type MetricRegistry, metricsMediaType } from "#base/metrics.ts";
import type { HttpHandler, HttpRequest, HttpResponse } from "#wire/http.ts";
import type { Guard } from "./delegated-access.ts";
import { type HealthCheck, health } from "./health.ts";

export interface PartEndpointsOptions {
  readonly checks: readonly HealthCheck[];
  readonly metrics: MetricRegistry;
  /** Asked about all paths but those of health. */
  readonly guard: Guard;
  /** The answer to those whom the guard turns away. */
  readonly refuse: (error: ApiError, request: HttpRequest) => HttpResponse;
}

const kinds: ReadonlySet<string> = new Set(["healthz", "livez", "readyz"]);
const notFound: HttpResponse = {
  code: 404,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body: "404 page not found\n",
};

/** Answers `/healthz`, `/livez` and `/readyz` to anyone, and `/metrics` to those who may get that path. */
export const partEndpoints =
  ({ checks, metrics, guard, refuse }: PartEndpointsOptions): HttpHandler =>
  async (request) => {
    const [, kind = "", only] = request.path.split("/");
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (isRead && kinds.has(kind)) return (await health(request, kind, only || undefined, checks)) ?? notFound;
    try {
      await guard(request);
    } catch (error) {
      if (error instanceof ApiError) return refuse(error, request);
      throw error;
    }
    if (!isRead || request.path !== "/metrics") return notFound;
    return { code: 200, headers: { "content-type": metricsMediaType }, body: await metrics.text() };
  };
