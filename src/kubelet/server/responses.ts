import type { HttpResponse } from "#wire/http.ts";
import type { KubeletRequest } from "./server.ts";

/** A request to a kubelet, taken apart. */
export interface RouteRequest extends Omit<KubeletRequest, "url"> {
  /** Those after the first word of the path. */
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
