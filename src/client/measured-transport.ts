// Counts the requests of a client and their results, under upstream's metric names.
import type { Clock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import type { Metrics } from "#base/metrics.ts";
import type { ApiResponse } from "#wire/api-request.ts";
import type { Transport } from "./client.ts";
import { methods } from "./request-url.ts";

export interface MeasureOptions {
  /** The server's address, as a label of the metrics. */
  readonly host: string;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Of a watch only its beginning is counted: how long it is open tells nothing. */
export function measuredTransport(transport: Transport, { host, clock, metrics }: MeasureOptions): Transport {
  return async (request) => {
    const method = methods[request.verb];
    const start = clock.elapsed();
    let code = "<error>";
    try {
      const response = await transport(request);
      code = codeOf(response);
      return response;
    } catch (error) {
      if (error instanceof ApiError) code = String(error.code);
      throw error;
    } finally {
      metrics.count("rest_client_requests_total", { code, method, host });
      const seconds = (clock.elapsed() - start) / 1000;
      if (request.verb !== "watch")
        metrics.observe("rest_client_request_duration_seconds", { verb: method, host }, seconds);
    }
  };
}

const codeOf = (response: ApiResponse): string =>
  response.type === "list" || response.type === "watch" ? "200" : String(response.code);
