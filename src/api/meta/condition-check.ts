// What a condition must look like.
// Upstream: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go.
import { repeats } from "#base/collections.ts";
import { byteLength, patternMessage, qualifiedName } from "#schema/formats.ts";
import { duplicate, invalid, notSupported, type Problem, required, tooLong } from "#schema/index.ts";
import type { Condition } from "./condition.ts";

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

/** Each is about something else. */
export function* checkRepeatedConditions(field: string, conditions: readonly Condition[] = []): Iterable<Problem> {
  const isRepeated = repeats<string>();
  for (const [i, { type }] of conditions.entries()) if (isRepeated(type)) yield duplicate(`${field}[${i}].type`, type);
}

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
