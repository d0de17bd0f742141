// The last stage: an answer in the form the client wants. What is stored goes out as the bytes that were made when it was
// written; only tables, metadata alone and foreign encodings are made for one answer.
import type { Clock } from "#base/clock.ts";
import type { ApiError } from "#base/errors.ts";
import type { Soon } from "#base/soon.ts";
import type { ApiObject } from "#schema/object.ts";
import type { ApiResponse } from "#wire/api-request.ts";
import type { Codec } from "#wire/codec.ts";
import { type HttpResponse, nosniff, uncached } from "#wire/http.ts";
import { jsonCodec } from "#wire/json.ts";
import { methodNotAllowed, statusOf } from "#wire/status.ts";
import { warningHeaders } from "#wire/warning.ts";
import { codecs, isStoredJson, type ResponseForm } from "./form.ts";
import { encodedList, listBytes, measure } from "./list-bytes.ts";
import { encode, encodedInTurns, shaped, statusNamed } from "./shape.ts";
import { watchBytes } from "./watch-bytes.ts";

type ListResponse = Extract<ApiResponse, { readonly type: "list" }>;

/** Lists may be long, and all at once would take too long. */
export async function respondList(response: ListResponse, wanted: ResponseForm, clock: Clock): Promise<HttpResponse> {
  const { page } = response;
  const headers = headersOf(response, wanted);
  if (!isStoredJson(wanted)) return { code: 200, headers, body: await encodedList(page, wanted, clock.now()) };
  await measure(page);
  return { code: 200, headers, body: listBytes(page) };
}

export function respond(
  response: Exclude<ApiResponse, ListResponse>,
  wanted: ResponseForm,
  clock: Clock,
): Soon<HttpResponse> {
  const headers = headersOf(response, wanted);
  if (response.type === "object" && isStoredJson(wanted)) {
    const { code, stored } = response;
    return { code, headers, body: stored.json };
  }
  const now = clock.now();
  switch (response.type) {
    case "object": {
      const { kind, stored, code } = response;
      return encodedInTurns({ code, headers }, wanted, shaped(kind, stored.object, wanted, now));
    }
    case "plain": {
      const { kind, object, code } = response;
      const one = kind ? shaped(kind, object as ApiObject, wanted, now) : { named: statusNamed, object };
      return encodedInTurns({ code, headers }, wanted, one);
    }
    case "watch":
      return { code: 200, headers, body: watchBytes(response, wanted, now) };
  }
}

function headersOf({ type, warnings = [] }: ApiResponse, { codec }: ResponseForm): Headers {
  const headers = usualHeaders.get(codec)?.[type === "watch" ? "watch" : "whole"] ?? uncached;
  return warnings.length === 0 ? headers : { ...headers, warning: warningHeaders(warnings) };
}

export const respondError = (
  error: ApiError,
  wanted: ResponseForm,
  warnings: readonly string[] = [],
): HttpResponse => ({
  code: error.code,
  headers: {
    "content-type": wanted.codec.mediaType,
    ...uncached,
    ...(error.details?.retryAfterSeconds !== undefined && { "retry-after": String(error.details.retryAfterSeconds) }),
    ...(warnings.length > 0 && { warning: warningHeaders(warnings) }),
  },
  body: encode(wanted, { named: statusNamed, object: statusOf(error) }),
});

/** The answer to a method that HTTP does not know, for fronts that cannot show us the request. */
export const unknownMethod = () => ({
  code: 405,
  headers: { "content-type": jsonCodec.mediaType, ...uncached },
  body: `${JSON.stringify({ kind: "Status", apiVersion: "v1", ...statusOf(methodNotAllowed()) })}\n`,
});

export const withHeaders = (response: HttpResponse, headers: Readonly<Record<string, string>>): HttpResponse => ({
  ...response,
  headers: { ...response.headers, ...headers },
});

type Headers = NonNullable<HttpResponse["headers"]>;

/** Made once: most answers have no others. In JSON a watch is announced without the parameter that asks for it; clients choose their decoder by that. */
const usualHeaders: ReadonlyMap<Codec, { readonly whole: Headers; readonly watch: Headers }> = new Map(
  [...codecs.values()].map((codec) => {
    const watchType = codec === jsonCodec ? codec.mediaType : (codec.watch?.mediaType ?? codec.mediaType);
    return [
      codec,
      {
        whole: { "content-type": codec.mediaType, ...uncached },
        watch: { "content-type": watchType, ...uncached },
      },
    ];
  }),
);

/** The answer where nothing is served at all. */
export const pageNotFound: HttpResponse = {
  code: 404,
  headers: { "content-type": "text/plain; charset=utf-8", ...nosniff, ...uncached },
  body: "404 page not found\n",
};
