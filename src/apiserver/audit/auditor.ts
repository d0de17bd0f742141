// Records who did what: begins a trail for every request that comes.
import type { Clock } from "#base/clock.ts";
import { uncached } from "#wire/http.ts";
import type { Call, CallAnswer } from "../pipeline/call.ts";
import type { Stage } from "../pipeline/pipeline.ts";
import type { Resources } from "../resources.ts";
import { type AuditOptions, AuditTrail } from "./trail.ts";

export interface AuditorOptions extends AuditOptions {
  readonly clock: Clock;
  readonly resources: Pick<Resources, "kindAt">;
}

/** Follows a request from now on. */
export function auditor({ resources, ...options }: AuditorOptions): (call: Call, auditId: string) => void {
  const isDeprecated = ({ target }: Call): boolean =>
    target.type !== "path" && resources.kindAt(target.address)?.deprecated !== undefined;
  const trailOptions = { ...options, isDeprecated };
  return (call, auditId) => {
    call.audit = new AuditTrail(call, auditId, trailOptions);
    call.life.follow(call.audit);
  };
}

/** Records that a request has come, once it is known who asks for what. */
export const auditStage: Stage = {
  name: "audit",
  inProcess: true,
  pass(call) {
    const stored = call.audit?.received();
    if (stored instanceof Promise) return stored.then((isStored) => (isStored ? undefined : unrecorded(call)));
    return stored === false ? unrecorded(call) : undefined;
  },
};

/** In upstream's words. */
function unrecorded({ over }: Call): CallAnswer {
  if (!over) throw new Error("failed to store audit event");
  const body = `Internal Server Error: ${JSON.stringify(over.http.url)}: failed to store audit event\n`;
  return {
    type: "http",
    response: { code: 500, headers: { ...uncached, "content-type": "text/plain; charset=utf-8" }, body },
  };
}
