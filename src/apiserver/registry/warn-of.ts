import type { ApiObject } from "#schema/object.ts";
import type { AdmissionCall } from "./admission.ts";
import type { Strategy } from "./strategy.ts";

/** Sends the client the warnings of the kind about an accepted object. */
export function warnOf(strategy: Strategy, call: AdmissionCall, object: ApiObject, old: ApiObject | undefined): void {
  const { request } = call;
  const { warnings, statusWarnings } = strategy;
  const texts = request.subresource === "status" ? statusWarnings?.(object) : warnings?.(object, old);
  for (const text of texts ?? []) request.warn?.(text);
}
