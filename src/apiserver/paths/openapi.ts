// `/openapi/v2` and `/openapi/v3`.
import type { Clock } from "#base/clock.ts";
import type { OpenApi } from "#schema/openapi/documents.ts";
import { type HttpRequest, type HttpResponse, uncached } from "#wire/http.ts";
import { withHeaders } from "../response/respond.ts";
import { tagged } from "./tagged.ts";

const wholeProtobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

export async function wholeDocument(request: HttpRequest, openApi: OpenApi): Promise<HttpResponse> {
  const isProtobuf = request.headers.accept?.includes("application/com.github.proto-openapi.spec.v2");
  const response = isProtobuf
    ? tagged(request, await openApi.wholeDocumentProtobuf(), wholeProtobufType)
    : tagged(request, await openApi.wholeDocument(), "application/json");
  return withHeaders(response, { vary: "Accept-Encoding, Accept" });
}

export const documentIndex = async (request: HttpRequest, openApi: OpenApi): Promise<HttpResponse> =>
  tagged(request, await openApi.index(), "application/json");

const yearMs = 365 * 24 * 3600 * 1000;

/** `/openapi/v3/<name>`; a client that names the hash of the document may keep it for good, and kubectl does if it is told for how long. */
export async function namedDocument(
  request: HttpRequest,
  { openApi, clock, name }: { readonly openApi: OpenApi; readonly clock: Clock; readonly name: string },
): Promise<HttpResponse> {
  const document = await openApi.document(name);
  if (!document) return { code: 404, headers: uncached, body: "" };
  const response = tagged(request, document, "application/json");
  const isNamed = request.query.get("hash") === document.etag;
  if (!isNamed) return response;
  const expires = new Date(clock.now() + yearMs).toUTCString();
  return withHeaders(response, { "cache-control": "public, immutable", expires });
}
