import type { PublishedDocument } from "#schema/openapi/documents.ts";
import { type HttpRequest, type HttpResponse, uncached } from "#wire/http.ts";

/** A document that the client may already have. */
export function tagged(
  request: HttpRequest,
  { content, etag }: PublishedDocument<string | Uint8Array>,
  contentType: string,
): HttpResponse {
  const headers = { etag: `"${etag}"`, vary: "Accept", ...uncached };
  if (request.headers["if-none-match"]?.includes(`"${etag}"`)) return { code: 304, headers, body: "" };
  return { code: 200, headers: { ...headers, "content-type": contentType }, body: content };
}
