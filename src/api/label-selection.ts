// Reading label selectors: what they select, and how they are written for people.
import { labelValue, qualifiedName } from "#schema/formats.ts";
import type { LabelSelector, LabelSelectorRequirement } from "./meta/label-selector.ts";

type Labels = Readonly<Record<string, string>>;

export const isEmptySelector = ({ matchLabels, matchExpressions }: LabelSelector): boolean =>
  Object.keys(matchLabels ?? {}).length === 0 && (matchExpressions ?? []).length === 0;

/** Whether the selector can be evaluated. No selector can: it selects nothing. */
export const isValidSelector = (selector: LabelSelector | undefined): boolean =>
  Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => isLabel(key, [value])) &&
  (selector?.matchExpressions ?? []).every(isValidRequirement);

function isValidRequirement({ key, operator, values = [] }: LabelSelectorRequirement): boolean {
  if (operator === "In" || operator === "NotIn") return values.length > 0 && isLabel(key, values);
  return (operator === "Exists" || operator === "DoesNotExist") && values.length === 0 && isLabel(key, []);
}

const isLabel = (key: string, values: readonly string[]): boolean =>
  qualifiedName(key).length === 0 && values.every((value) => labelValue(value).length === 0);

/** An empty selector selects all, a missing one nothing. */
export function selects(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  if (!selector) return false;
  return (
    Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value) &&
    (selector.matchExpressions ?? []).every((requirement) => meets(labels, requirement))
  );
}

function meets(labels: Labels, { key, operator, values = [] }: LabelSelectorRequirement): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}

/** `app=web,tier in (a,b),!old`, by key; "" for an empty selector and undefined for one that cannot be evaluated. */
export function selectorText(selector: LabelSelector | undefined): string | undefined {
  if (!isValidSelector(selector)) return undefined;
  const parts = [
    ...Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => ({ key, text: `${key}=${value}` })),
    ...(selector?.matchExpressions ?? []).map((one) => ({ key: one.key, text: requirementText(one) })),
  ];
  return parts
    .toSorted((a, b) => compare(a.key, b.key))
    .map(({ text }) => text)
    .join(",");
}

const words: Readonly<Record<string, string>> = { In: "in", NotIn: "notin" };

function requirementText({ key, operator, values = [] }: LabelSelectorRequirement): string {
  if (operator === "Exists") return key;
  if (operator === "DoesNotExist") return `!${key}`;
  return `${key} ${words[operator]} (${values.toSorted(compare).join(",")})`;
}

/** For a cell of a table. */
export function formatSelector(selector: LabelSelector | undefined): string {
  return selectorText(selector)?.replace(/^$/, "<none>") ?? "<error>";
}

/** `a=1,b=2`, or `<none>`. */
export const formatLabels = (labels: Labels = {}): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .toSorted(compare)
    .join(",") || "<none>";

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
