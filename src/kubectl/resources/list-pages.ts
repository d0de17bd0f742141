// Lists in pages, and what a server is asked for with them.
import { ApiError, isExpired } from "#base/errors.ts";
import type { RestMapping } from "../discovery/rest-mapper.ts";
import type { KubeObject, RestClient } from "../rest/client.ts";
import type { Query } from "../rest/request.ts";
import { metadataOf, resourcePath, stringIn } from "./resource-info.ts";

export interface ListRequest {
  readonly mapping: RestMapping;
  /** Empty for all. */
  readonly namespace: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** 0 asks for all at once. */
  readonly chunkSize?: number;
  readonly accept?: string;
  readonly query?: Query;
}

export const selectorQuery = ({ labelSelector, fieldSelector, query = [] }: ListRequest): Query => [
  ...query,
  ...(labelSelector ? [["labelSelector", labelSelector] as const] : []),
  ...(fieldSelector ? [["fieldSelector", fieldSelector] as const] : []),
];

/** Each page as the server sends it. Rejects with ApiError; a bad selector is said to be the resource's. */
export async function* listPages(client: RestClient, request: ListRequest): AsyncGenerator<KubeObject> {
  const { mapping, namespace, chunkSize = 0, accept } = request;
  const path = resourcePath(mapping, namespace);
  const base = selectorQuery(request);
  const limit: Query = chunkSize > 0 ? [["limit", String(chunkSize)]] : [];
  let next = "";
  do {
    const query: Query = [...base, ...limit, ...(next === "" ? [] : [["continue", next] as const])];
    let page: KubeObject;
    try {
      page = await client.json({ path, query, ...(accept !== undefined && { accept }) });
    } catch (error) {
      if (next !== "" && isExpired(error)) {
        // What was to be continued is forgotten: all of it in one piece is newer, and whole.
        yield client.json({ path, query: base, ...(accept !== undefined && { accept }) });
        return;
      }
      throw withSelectors(error, request);
    }
    yield page;
    next = stringIn(metadataOf(page).continue);
  } while (next !== "");
}

/** A refusal of a selector names it, as people may not have typed it that way. */
function withSelectors(error: unknown, { mapping, labelSelector, fieldSelector }: ListRequest): unknown {
  if (!(error instanceof ApiError) || (error.reason !== "BadRequest" && error.reason !== "NotFound")) return error;
  if (!labelSelector && !fieldSelector) return error;
  const { code, reason, message, details } = error;
  const resource = `${mapping.group === "" ? "" : `${mapping.group}/`}${mapping.version}, Resource=${mapping.resource}`;
  const shown = mapping.group === "" ? `/${resource}` : resource;
  return new ApiError({
    code,
    reason,
    message: `Unable to find ${JSON.stringify(shown)} that match label selector ${JSON.stringify(labelSelector ?? "")}, field selector ${JSON.stringify(fieldSelector ?? "")}: ${message}`,
    ...(details && { details }),
  });
}
