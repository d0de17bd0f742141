import type { ApiObject, DraftObject } from "#schema/object.ts";
import { permit } from "#serving/authorization.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import type { WriteGuard } from "../registry/write-steps.ts";
import { questionOf } from "./authorizer.ts";
import { type EscalationOptions, rbacGroup, refuseEscalation } from "./rbac/escalation.ts";

/** What is to be permitted of a write beyond its verb: that it may create where an update finds nothing, and what it gives away. */
export const writeGuard =
  (options: EscalationOptions): WriteGuard =>
  (request, object, old) => {
    const creates = !old && request.verb !== "create";
    return creates || request.group === rbacGroup ? guarded(options, request, object, old, creates) : undefined;
  };

async function guarded(
  options: EscalationOptions,
  request: ApiRequest,
  object: DraftObject,
  old: ApiObject | undefined,
  creates: boolean,
): Promise<void> {
  if (creates) await permit(options.authorize, { ...questionOf(request), verb: "create" });
  await refuseEscalation(options, request, object, old);
}
