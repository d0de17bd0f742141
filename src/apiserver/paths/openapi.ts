// `/openapi/v2` and `/openapi/v3`.
import type { OpenApi } from "#schema/openapi/documents.ts";
import { type HttpRequest, type HttpResponse, uncached } from "#wire/http.ts";
import { withHeaders } from "../respond.ts";
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

/** `/openapi/v3/<name>`; a client that names the hash of the document may keep it for good. */
export async function namedDocument(request: HttpRequest, openApi: OpenApi, name: string): Promise<HttpResponse> {
  const document = await openApi.document(name);
  if (!document) return { code: 404, headers: uncached, body: "" };
  const response = tagged(request, document, "application/json");
  const isNamed = request.query.get("hash") === document.etag;
  return isNamed ? withHeaders(response, { "cache-control": "public, immutable" }) : response;
}
