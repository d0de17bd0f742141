// Lists in pages, and what a server is asked for with them.
import { ApiError, isExpired } from "#base/errors.ts";
import type { RestMapping } from "../discovery/rest-mapper.ts";
import { KubectlError } from "../errors.ts";
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

/**
 * Each page as the server sends it; while one is looked at, the next is on its way. Rejects with ApiError (a bad selector is said to be
 * the resource's), and with KubectlError for a server that would go on for ever.
 */
export async function* listPages(client: RestClient, request: ListRequest): AsyncGenerator<KubeObject> {
  const { mapping, namespace, chunkSize = 0, accept } = request;
  const path = resourcePath(mapping, namespace);
  const base = selectorQuery(request);
  const limit: Query = chunkSize > 0 ? [["limit", String(chunkSize)]] : [];
  const ask = async (query: Query) => client.json({ path, query, ...(accept !== undefined && { accept }) });
  const pageAfter = async (token: string): Promise<KubeObject> => {
    try {
      return await ask([...base, ...limit, ...(token === "" ? [] : [["continue", token] as const])]);
    } catch (error) {
      // What was to be continued is forgotten: all of it in one piece is newer, and whole.
      if (token !== "" && isExpired(error)) return ask(base);
      throw withSelectors(error, request);
    }
  };
  let token = "";
  let coming: Promise<KubeObject> | undefined = pageAfter(token);
  while (coming) {
    const page: KubeObject = await coming;
    const next = stringIn(metadataOf(page).continue);
    if (next !== "" && next === token)
      throw new KubectlError(`the server sends the same part of the list of ${mapping.resource} again and again`);
    token = next;
    coming = next === "" ? undefined : pageAfter(next);
    coming?.catch(() => undefined); // told when it is its turn; nobody may come for it
    yield page;
  }
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
