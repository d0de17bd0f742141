import type { ApiObject } from "#schema/object.ts";
import type { AdmissionCall } from "./admission.ts";
import type { Strategy } from "./strategy.ts";

/** Sends the client the warnings of the kind about an accepted object. */
export function warnOf(strategy: Strategy, call: AdmissionCall, object: ApiObject, old: ApiObject | undefined): void {
  const { request, kind, dryRun } = call;
  const { warnings, statusWarnings, isEnforced = true } = strategy;
  const isStatus = request.subresource === "status";
  if (!isEnforced && !isStatus && !dryRun)
    request.warn?.(`${kind.apiVersion} ${kind.kind} is stored but not enforced by this server`);
  const texts = isStatus ? statusWarnings?.(object) : warnings?.(object, old);
  for (const text of texts ?? []) request.warn?.(text);
}
