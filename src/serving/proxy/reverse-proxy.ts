// Passes a request of any kind on to another server, and its answer back: upgrades as they are, pages with links that lead through the
// proxy. Follows upstream's apimachinery/pkg/util/proxy.
import type { HttpRequest, HttpResponse } from "#wire/http.ts";
import { isUpgradeRequest } from "#wire/streams/websocket.ts";
import { bytesOf } from "./body.ts";
import { changeEncoded } from "./content-encoding.ts";
import { passedBack, passedOn } from "./headers.ts";
import { rewriteLinks } from "./html-links.ts";
import { type OutgoingRequest, unreachable } from "./outgoing.ts";
import { cleanPath, type ProxyAddress, throughProxy } from "./urls.ts";

/** The server behind a proxy. */
export interface ProxyTarget {
  /** For redirects: what the server would call itself. */
  readonly host: string;
  send(request: OutgoingRequest): Promise<HttpResponse>;
}

/** `rest` is how much of the request's path is meant for the server: the end of it. Throws ApiError if the server cannot be reached. */
export async function passOn(http: HttpRequest, rest: string, target: ProxyTarget): Promise<HttpResponse> {
  const upgrades = isUpgradeRequest(http);
  const path = cleanPath(rest);
  const search = http.url.slice(http.path.length);
  const { method, signal } = http;
  if (upgrades) {
    const request = { method, signal, url: (path || "/") + search, headers: passedOn(http, { upgrades }) };
    return target.send(request).catch((error: unknown) => {
      throw unreachable(error, 500, "error dialing backend");
    });
  }
  if (path === "" && (method === "GET" || method === "HEAD"))
    return { code: 301, headers: { location: `${http.path}/${search}` }, body: "" };
  const prefix = http.path.slice(0, http.path.length - rest.length);
  const forwarded = prefix + path;
  const isFramed = ["content-length", "transfer-encoding"].some((name) => http.headers[name] !== undefined);
  const hasContent = isFramed || !["GET", "HEAD", "OPTIONS"].includes(method);
  const response = await target
    .send({
      method,
      signal,
      url: (path || "/") + search,
      headers: { ...passedOn(http, { upgrades }), "x-forwarded-uri": forwarded },
      ...(hasContent && { content: http.content }),
    })
    .catch((error: unknown) => {
      throw unreachable(error, 503, "error trying to reach service");
    });
  const requestHost = http.headers.host ?? http.headers[":authority"] ?? "";
  return rewritten(response, method, { prefix, backendHost: target.host, requestHost });
}

/** The answer with redirects and links that lead through the proxy. A redirect's page is left alone, as upstream does. */
function rewritten(response: HttpResponse, method: string, address: ProxyAddress): HttpResponse {
  const { code, body } = response;
  const { "content-length": length, ...headers } = passedBack(response.headers);
  const { location, "content-type": type = "", "content-encoding": encoding = "" } = headers;
  const unchanged = { ...response, headers: { ...headers, ...(length !== undefined && { "content-length": length }) } };
  if (typeof location === "string" && location !== "")
    return { ...unchanged, headers: { ...unchanged.headers, location: throughProxy(location, address) } };
  const isPage = String(type).split(";")[0]?.trim() === "text/html";
  if (!isPage || method === "HEAD" || code === 206 || code === 304) return unchanged;
  const rewrite = (url: string) => throughProxy(url, address);
  const page = changeEncoded(String(encoding), bytesOf(body), (content) => rewriteLinks(content, rewrite));
  return page ? { ...response, headers, body: page } : unchanged;
}
