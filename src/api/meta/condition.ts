import { type Infer, int64, type Problem, string, struct, time } from "#schema/index.ts";
import { checkCondition } from "./condition-check.ts";

const fields = {
  type: string(1, "What it is about, in CamelCase.").required(),
  status: string(2, "Whether it holds: True, False or Unknown.").required(),
  observedGeneration: int64(3, "Generation of the object it was found for."),
  lastTransitionTime: time(4, "When the status last changed.").required(),
  reason: string(5, "Why, in one CamelCase word, for programs.").required(),
  message: string(6, "Why, in words, for people.").required(),
};
const doc = "One thing that is known about an object at present.";

export const Condition = struct("meta/v1.Condition", fields, {
  doc,
  check: (condition): Iterable<Problem> => checkCondition(condition),
});
export interface Condition extends Infer<typeof Condition> {}

/** The same where upstream takes it as it is sent, as in the status of services and of their ranges. */
export const UncheckedCondition = struct("meta/v1.Condition", fields, { doc });
