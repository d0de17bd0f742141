// Rules of the structs that all groups share.
import { byteLength, labelValue, patternMessage, qualifiedName } from "#schema/formats.ts";
import { forbidden, invalid, notSupported, type Problem, required, tooLong } from "#schema/index.ts";
import { labelProblems } from "#schema/validate-metadata.ts";
import type { Condition } from "./condition.ts";
import type { LabelSelector, LabelSelectorRequirement } from "./label-selector.ts";

export function* checkSelector({ matchLabels }: LabelSelector): Iterable<Problem> {
  yield* labelProblems(matchLabels, "matchLabels");
}

export function* checkRequirement({ key, operator, values = [] }: LabelSelectorRequirement): Iterable<Problem> {
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0) yield required("values", "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0)
      yield forbidden("values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else yield invalid("operator", "not a valid selector operator");
  for (const message of qualifiedName(key)) yield invalid("key", message);
  for (const [index, value] of values.entries())
    for (const message of labelValue(value)) yield invalid(`values[${index}]`, message);
}

const reasonSource = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const reason = new RegExp(`^${reasonSource}$`);
const reasonMessage = patternMessage(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  reasonSource,
  "my_name",
  "MY_NAME",
  "MyName",
  "ReasonA,ReasonB",
  "ReasonA:ReasonB",
);
const statuses = ["False", "True", "Unknown"];
const mostReasonBytes = 1024;
const mostMessageBytes = 32 * 1024;

export function* checkCondition(condition: Condition): Iterable<Problem> {
  for (const message of qualifiedName(condition.type)) yield invalid("type", message);
  if (!statuses.includes(condition.status)) yield notSupported("status", statuses);
  if ((condition.observedGeneration ?? 0) < 0)
    yield invalid("observedGeneration", "must be greater than or equal to zero");
  if (!condition.lastTransitionTime) yield required("lastTransitionTime");
  if (condition.reason === "") yield required("reason");
  else {
    if (!reason.test(condition.reason)) yield invalid("reason", reasonMessage);
    if (byteLength(condition.reason) > mostReasonBytes) yield tooLong("reason", mostReasonBytes);
  }
  if (byteLength(condition.message) > mostMessageBytes) yield tooLong("message", mostMessageBytes);
}
