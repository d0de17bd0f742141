// What was answered, as the audit log shows it: JSON of the objects, whatever form the client got them in.
import { ApiError } from "#base/errors.ts";
import type { ApiObject } from "#schema/object.ts";
import type { ListPage } from "#wire/api-request.ts";
import { statusOf } from "#wire/status.ts";
import type { CallAnswer } from "../pipeline/call.ts";
import { listMetadata } from "../response/list-shape.ts";

/** No more of a body is recorded than a client may send: writing down more would hold up other requests. */
const mostBytes = 3 * 1024 * 1024;
export const isTooLarge = (json: string): boolean => json.length > mostBytes;
/** Stands for what is too large. */
const tooLarge = " ".repeat(mostBytes + 1);

const utf8 = new TextDecoder();

export function answerJson(
  failure: Error | undefined,
  answer: CallAnswer | undefined,
  omitManagedFields: boolean,
): string | undefined {
  if (failure) return failure instanceof ApiError ? JSON.stringify(statusOf(failure)) : undefined;
  switch (answer?.type) {
    case "object":
      return omitManagedFields
        ? JSON.stringify(withoutManagedFields(answer.stored.object))
        : utf8.decode(answer.stored.json).trimEnd();
    case "plain":
      return JSON.stringify(omitManagedFields ? withoutManagedFields(answer.object) : answer.object);
    case "list":
      return listJson(answer.page, omitManagedFields);
    default:
      return undefined;
  }
}

function listJson(page: ListPage, omitManagedFields: boolean): string {
  const { kind, apiVersion } = page.kind;
  const items: string[] = [];
  let length = 0;
  for (const { object, json } of page.items) {
    length += json.length;
    if (length > mostBytes) return tooLarge;
    const { apiVersion: _apiVersion, kind: _kind, ...item } = object;
    items.push(JSON.stringify(omitManagedFields ? withoutManagedFields(item) : item));
  }
  const head = JSON.stringify({ kind: `${kind}List`, apiVersion, metadata: listMetadata(page) });
  return `${head.slice(0, -1)},"items":[${items.join(",")}]}`;
}

/** The same object if it has none. */
export function withoutManagedFields(object: object): object {
  const { metadata } = object as Partial<ApiObject>;
  if (!metadata?.managedFields) return object;
  const { managedFields: _managedFields, ...kept } = metadata;
  return { ...object, metadata: kept };
}
