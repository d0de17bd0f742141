// Requests to aggregated servers: where each is, who this server is to it, and for whom it asks.
// Follows kube-aggregator/pkg/apiserver/resolvers.go and apiserver/pkg/util/proxy/proxy.go upstream.
import type { Clock } from "#base/clock.ts";
import { bytesOf } from "#serving/proxy/body.ts";
import type { OutgoingRequest } from "#serving/proxy/outgoing.ts";
import { isRequestHeader, type RequestHeaderNames, requestHeadersOf } from "#serving/request-headers.ts";
import type { User } from "#wire/api-request.ts";
import type { HttpResponse } from "#wire/http.ts";
import { notFound, serviceUnavailable } from "#wire/status.ts";
import type { ServiceEndpoint, ServiceEndpoints } from "../webhook/service-endpoints.ts";
import type { RemoteApi } from "./remote-apis.ts";
import type { RemoteConnection } from "./remote-connection.ts";

/** As whom this server asks on its own account. */
const aggregator: User = { name: "system:kube-aggregator", groups: ["system:masters"] };
/** How long a document may take, as upstream has it. */
const documentMs = 5_000;

export interface RemoteCallsOptions {
  readonly connection: RemoteConnection;
  readonly endpoints: ServiceEndpoints;
  /** Whether services are reached at their endpoints instead of their own addresses. */
  readonly routesToEndpoints: boolean;
  /** The headers that servers believe, in lower case: nobody but this server sends them. */
  readonly believed: RequestHeaderNames;
  readonly clock: Clock;
}

export interface DocumentRequest {
  readonly accept: string;
  readonly etag?: string | undefined;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface RemoteDocument {
  readonly code: number;
  readonly contentType: string;
  readonly etag: string | undefined;
  readonly bytes: Uint8Array;
}

export class RemoteCalls {
  readonly #options: RemoteCallsOptions;

  constructor(options: RemoteCallsOptions) {
    this.#options = options;
  }

  /** Where the server of an API is. Throws ApiError or another Error that says why that cannot be told. */
  placeOf({ service: { namespace, name, port } }: RemoteApi): ServiceEndpoint {
    const { endpoints, routesToEndpoints } = this.#options;
    if (routesToEndpoints) return endpoints.resolve(namespace, name, port);
    const service = endpoints.service(namespace, name);
    if (!service) throw notFound({ group: "", resource: "service" }, name);
    const { type, clusterIP = "", externalName = "", ports = [] } = service.spec;
    if (type === "ExternalName") return { address: externalName, port };
    if (clusterIP === "None") throw new Error('cannot route to service with ClusterIP "None"');
    if (!ports.some((one) => one.port === port))
      throw serviceUnavailable(`no service port ${port} found for service ${JSON.stringify(name)}`);
    return { address: clusterIP, port };
  }

  /** Sends a request to the server of an API on behalf of a user. Throws Unreachable, and what `placeOf` does. */
  async send(api: RemoteApi, user: User, outgoing: OutgoingRequest, place = this.placeOf(api)): Promise<HttpResponse> {
    const { connection, believed } = this.#options;
    const { service, ca, trustsAny } = api;
    const kept = Object.entries(outgoing.headers).filter(([name]) => !isRequestHeader(name, believed));
    return connection.send(
      { host: `${service.name}.${service.namespace}.svc`, dialAddress: place.address, port: place.port, ca, trustsAny },
      { ...outgoing, headers: Object.fromEntries(kept), repeated: requestHeadersOf(user) },
    );
  }

  /** Reads a document on this server's own account, within a time and a size. */
  async read(api: RemoteApi, path: string, asked: DocumentRequest, place = this.placeOf(api)): Promise<RemoteDocument> {
    const { accept, etag, maxBytes, signal } = asked;
    const timeUp = new AbortController();
    const cancel = this.#options.clock.after(documentMs, () => timeUp.abort(new Error("context deadline exceeded")));
    const limited = AbortSignal.any([signal, timeUp.signal]);
    try {
      const headers = { accept, ...(etag !== undefined && { "if-none-match": etag }) };
      const answer = await this.send(api, aggregator, { method: "GET", url: path, headers, signal: limited }, place);
      return {
        code: answer.code,
        contentType: String(answer.headers?.["content-type"] ?? ""),
        etag: answer.headers?.etag === undefined ? undefined : String(answer.headers.etag),
        bytes: await wholeOf(answer, maxBytes),
      };
    } finally {
      cancel();
    }
  }
}

/** Throws an Error for a body that is longer: it is not read to its end. */
export async function wholeOf({ body }: HttpResponse, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of bytesOf(body)) {
    size += part.length;
    if (size > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`);
    parts.push(part);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
