// Requests that another server answers: passed on as they are, watches and upgrades included. Those of parts of this process are put into
// HTTP, and the answer is read again.
// Follows kube-aggregator/pkg/apiserver/handler_proxy.go upstream.
import { ApiError } from "#base/errors.ts";
import { errorIn, responseIn, watchedIn } from "#client/decode-response.ts";
import { acceptedBy, contentType } from "#client/request-media.ts";
import { methods, pathOf } from "#client/request-url.ts";
import { decodeUtf8 } from "#schema/json.ts";
import { bytesOf } from "#serving/proxy/body.ts";
import { passOn } from "#serving/proxy/reverse-proxy.ts";
import type { ApiRequest, ApiResponse, User } from "#wire/api-request.ts";
import { type HttpRequest, type HttpResponse, nosniff } from "#wire/http.ts";
import { jsonCodec } from "#wire/json.ts";
import { serviceUnavailable } from "#wire/status.ts";
import type { CallAnswer } from "../pipeline/call.ts";
import type { RemoteApi, RemoteApis } from "./remote-apis.ts";
import { type RemoteCalls, wholeOf } from "./remote-calls.ts";

/** Of an answer to a part of this process; larger ones are refused: pages are for that. */
const answerLimit = 64 * 1024 * 1024;
const unavailable = "service unavailable";

export class ForeignRequests {
  readonly #apis: RemoteApis;
  readonly #calls: RemoteCalls;

  constructor(apis: RemoteApis, calls: RemoteCalls) {
    this.#apis = apis;
    this.#calls = calls;
  }

  find(group: string, version: string): RemoteApi | undefined {
    return this.#apis.find(group, version);
  }

  /** Who answers for a path that is no resource: what a version has, and the document that describes it. */
  atPath(path: string): RemoteApi | undefined {
    if (this.#apis.all.length === 0) return undefined;
    const [, group = "", version = ""] = /^(?:\/openapi\/v3)?\/apis\/([^/]+)\/([^/]+)\/?$/.exec(path) ?? [];
    return version === "" ? undefined : this.#apis.find(group, version);
  }

  async passOn(api: RemoteApi, http: HttpRequest, user: User): Promise<CallAnswer> {
    return { type: "http", response: await this.#passOn(api, http, user) };
  }

  async #passOn(api: RemoteApi, http: HttpRequest, user: User): Promise<HttpResponse> {
    const place = this.#placeOf(api);
    if (!place) return plainText(503, unavailable);
    const host = `${place.address}:${place.port}`;
    try {
      const response = await passOn(http, http.path, {
        host,
        send: (request) => this.#calls.send(api, user, request, place),
      });
      return isRedirect(response) ? plainText(502, notPermitted) : response;
    } catch (error) {
      // Whoever does not answer is no fault of ours; upstream tells it as text.
      if (error instanceof ApiError) return plainText(503, error.message);
      throw error;
    }
  }

  /** The same for a part of this process. Throws ApiError. */
  async answer(api: RemoteApi, request: ApiRequest | undefined): Promise<ApiResponse | undefined> {
    if (!request) return undefined;
    const place = this.#placeOf(api);
    if (!place) throw serviceUnavailable(unavailable);
    const body = request.body && new TextEncoder().encode(JSON.stringify(request.body.value()));
    const response = await this.#calls
      .send(
        api,
        request.user,
        {
          method: methods[request.verb],
          url: pathOf(request),
          headers: {
            accept: acceptedBy(request),
            "user-agent": request.userAgent,
            ...(body && { "content-type": contentType(request), "content-length": String(body.length) }),
          },
          ...(body && { content: onePart(body) }),
          signal: request.signal,
        },
        place,
      )
      .catch((cause: unknown) => {
        request.signal.throwIfAborted();
        throw serviceUnavailable(`error trying to reach service: ${cause instanceof Error ? cause.message : ""}`);
      });
    const { code } = response;
    if (code === 200 && request.verb === "watch") return watchedIn(request, bytesOf(response.body), jsonCodec);
    const text = decodeUtf8(await wholeOf(response, answerLimit));
    const retryAfter = response.headers?.["retry-after"];
    if (code < 200 || code > 299) throw errorIn(code, text, retryAfter === undefined ? undefined : String(retryAfter));
    return responseIn(request, code, text);
  }

  /** Where the server is; undefined if it is said to be unavailable, or is nowhere. */
  #placeOf(api: RemoteApi) {
    if (!api.isAvailable) return undefined;
    try {
      return this.#calls.placeOf(api);
    } catch {
      return undefined; // the checks of its availability say why
    }
  }
}

/** A redirect could lead a client, with its credentials, anywhere. */
const notPermitted = "the backend attempted to redirect this request, which is not permitted";
const isRedirect = ({ code, headers }: HttpResponse): boolean =>
  code >= 300 && code <= 399 && headers?.location !== undefined;

const plainText = (code: number, text: string): HttpResponse => ({
  code,
  headers: { "content-type": "text/plain; charset=utf-8", ...nosniff },
  body: `${text}\n`,
});

async function* onePart(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
