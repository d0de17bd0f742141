// Of kinds that nothing special is known about: whether they are being deleted, and what their conditions say.
import type { Event } from "#api/core/v1/event.ts";
import { deletionReason } from "./deletion.ts";
import { type ConditionWords, conditionEvidence, eventEvidence, type Reason, sinceOf } from "./reason.ts";

export interface OtherFacts {
  readonly kind: string;
  readonly metadata: Parameters<typeof deletionReason>[0]["metadata"];
  readonly conditions: readonly ConditionWords[];
  readonly events: readonly Event[];
  readonly deletedBy: string | undefined;
}

/** Conditions that are good when they are True, by the habit of the API. */
const good =
  /^(Ready|Available|Established|NamesAccepted|Accepted|Programmed|Approved|Bound|Synced|Reconciled|Healthy|AbleToScale|ScalingActive)$/;
const bad = /(Failed|Failure|Error|Degraded|Stalled|Denied|Pressure)$/;

export function otherReason({ kind, metadata, conditions, events, deletedBy }: OtherFacts): Reason {
  const deletion = deletionReason({ kind, metadata }, deletedBy);
  if (deletion) return deletion;
  const wrong = conditions.filter(
    ({ type = "", status }) => (good.test(type) && status !== "True") || (bad.test(type) && status === "True"),
  );
  const [first] = wrong;
  if (first)
    return {
      code: first.reason || first.type || "Condition",
      state: "wrong",
      says: `is not well: ${wrong.map(({ type, status }) => `${type} is ${status}`).join(", ")}`,
      ...sinceOf(first.lastTransitionTime),
      evidence: wrong.flatMap(conditionEvidence),
    };
  const warning = events.at(-1)?.type === "Warning" ? events.at(-1) : undefined;
  if (warning)
    return {
      code: warning.reason || "Warning",
      state: "wrong",
      says: "is there, but the last thing that was reported about it is a warning",
      evidence: eventEvidence(warning),
    };
  return {
    code: "Present",
    state: "fine",
    says:
      conditions.length > 0 ? "is there, and none of its conditions is bad" : "is there, and nothing speaks against it",
  };
}
