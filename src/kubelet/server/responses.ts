import type { HttpResponse } from "#wire/http.ts";
import type { KubeletRequest } from "./server.ts";

/** A request to a kubelet, with its path and query parsed. */
export interface RouteRequest extends Omit<KubeletRequest, "url"> {
  /** Segments of the path after the first. */
  readonly words: readonly string[];
  readonly query: URLSearchParams;
}

export const text = (code: number, body: string): HttpResponse => ({
  code,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body,
});

export const json = (body: unknown): HttpResponse => ({
  code: 200,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});
