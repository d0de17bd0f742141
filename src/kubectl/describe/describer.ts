// What a describer gets and how it asks for more than the object itself.
import type { Event } from "#api/core/v1/event.ts";
import { ApiError } from "#base/errors.ts";
import type { RestMapping } from "../discovery/rest-mapper.ts";
import { listPages } from "../resources/list-pages.ts";
import { metadataOf, stringIn } from "../resources/resource-info.ts";
import type { KubeObject, RestClient } from "../rest/client.ts";
import type { DescriptionWriter } from "./description-writer.ts";

export interface DescribeContext {
  readonly client: RestClient;
  readonly now: number;
  readonly chunkSize: number;
  readonly showsEvents: boolean;
}

/** Writes all there is to say of an object. */
export type Describer<T> = (object: T, context: DescribeContext, w: DescriptionWriter) => Promise<void>;

/** What events are about; an empty part is not asked for. */
export interface EventSubject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export const coreMapping = (resource: string, kind: string): RestMapping => ({
  group: "",
  version: "v1",
  resource,
  singular: kind.toLowerCase(),
  kind,
  isNamespaced: true,
  verbs: [],
});
const eventMapping = coreMapping("events", "Event");

export const subjectOf = (object: Readonly<KubeObject>): EventSubject => {
  const { namespace, name, uid } = metadataOf(object);
  return { kind: stringIn(object.kind), namespace: stringIn(namespace), name: stringIn(name), uid: stringIn(uid) };
};

/** All objects of a list, page by page. Rejects with ApiError. */
export async function listAll<T>(
  { client, chunkSize }: DescribeContext,
  mapping: RestMapping,
  namespace: string,
  selectors: { readonly labelSelector?: string; readonly fieldSelector?: string; readonly inPages?: boolean } = {},
): Promise<T[]> {
  const { inPages = true, ...rest } = selectors;
  const found: T[] = [];
  for await (const { items } of listPages(client, { mapping, namespace, ...rest, chunkSize: inPages ? chunkSize : 0 }))
    if (Array.isArray(items)) found.push(...(items as T[]));
  return found;
}

/** What a refusal leaves out of a description; everything else is still told. */
export async function unlessRefused<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** Undefined if events are not to be shown. A refusal shows as none, as upstream has it. */
export async function eventsOf(context: DescribeContext, subject: EventSubject): Promise<readonly Event[] | undefined> {
  if (!context.showsEvents) return undefined;
  return (await unlessRefused(searchEvents(context, subject))) ?? [];
}

/** Rejects with ApiError. */
export function searchEvents(
  context: DescribeContext,
  { kind, namespace, name, uid }: EventSubject,
): Promise<readonly Event[]> {
  const terms = [
    ["involvedObject.kind", kind],
    ["involvedObject.name", name],
    ["involvedObject.namespace", namespace],
    ["involvedObject.uid", uid],
  ] as const;
  const fieldSelector = terms
    .filter(([field, value]) => value !== "" || field.endsWith("name") || field.endsWith("namespace"))
    .map((term) => term.join("="))
    .join(",");
  return listAll<Event>(context, eventMapping, namespace, { fieldSelector });
}
