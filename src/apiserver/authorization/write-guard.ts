import type { WriteGuard } from "../registry/registry.ts";
import { permit, questionOf } from "./authorizer.ts";
import { type EscalationOptions, rbacGroup, refuseEscalation } from "./rbac/escalation.ts";

/** What is to be permitted of a write beyond its verb: that it may create where an update finds nothing, and what it gives away. */
export const writeGuard =
  (options: EscalationOptions): WriteGuard =>
  async (request, object, old) => {
    if (!old && request.verb !== "create") await permit(options.authorize, { ...questionOf(request), verb: "create" });
    if (request.group === rbacGroup) await refuseEscalation(options, request, object, old);
  };
