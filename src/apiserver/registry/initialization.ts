// Objects that wait for initializers: only clients that ask for uninitialized objects see them, and a create waits until they are initialized.
// Follows WaitForInitialized of upstream's generic registry (v1.7 to v1.13).
import { ApiError } from "#base/errors.ts";
import type { ApiObject } from "#schema/object.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { internalError, timedOut } from "#wire/status.ts";
import type { StoredObject } from "../stored.ts";
import type { Registry } from "./registry.ts";

const waitSeconds = 30;

export const isUninitialized = ({ metadata }: ApiObject): boolean => metadata.initializers !== undefined;

/** Whether somebody said that the object cannot be initialized: then it goes. */
export const hasFailed = ({ metadata }: Pick<ApiObject, "metadata">): boolean =>
  metadata.initializers?.result?.status === "Failure";

export const includesUninitialized = ({ query }: ApiRequest): boolean =>
  query.size > 0 && /^(true|1)$/.test(query.get("includeUninitialized") ?? "");

/** The object once all initializers have acted. Throws ApiError if one of them fails, or takes too long. */
export async function initialized(
  registry: Registry,
  request: ApiRequest,
  stored: StoredObject,
): Promise<StoredObject> {
  const { key } = stored;
  const { signal } = request;
  const limited = registry.signalFor(waitSeconds, signal);
  const matches = (one: StoredObject) => one.key === key;
  const watch = { question: key, place: key, matches };
  const start = { from: stored.revision, initial: [], bookmark: undefined, marksInitial: false };
  try {
    for await (const events of await registry.objects.changes(watch, start, limited))
      for (const { type, object } of events) {
        if (type === "DELETED") throw deletionError(object as ApiObject);
        if (type !== "MODIFIED" || isUninitialized(object as ApiObject)) continue;
        const current = await registry.objects.current(key, request);
        if (current) return current;
      }
  } catch (error) {
    if (error instanceof ApiError || signal.aborted) throw error;
    if (!limited.aborted) throw error;
  }
  signal.throwIfAborted();
  throw timedOut(`server has timed out waiting for the initialization of ${registry.resource.resource} ${key}`);
}

function deletionError(last: ApiObject): ApiError {
  const { result } = last.metadata.initializers ?? {};
  if (result?.status !== "Failure") return internalError("object deleted while waiting for creation");
  const { message = "", reason = "", code = 500 } = result;
  return new ApiError({ code, reason, message });
}
