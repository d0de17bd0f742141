// Asking things of label selectors that may be invalid: a check or a cell must not throw.
import { formatRequirements, type Labels, requirementsOf, SelectorError, selectorMatcher } from "#schema/selector.ts";
import type { LabelSelector } from "./meta/label-selector.ts";

export const isEmptySelector = ({ matchLabels, matchExpressions }: LabelSelector): boolean =>
  Object.keys(matchLabels ?? {}).length === 0 && (matchExpressions ?? []).length === 0;

/** Whether the selector can be evaluated. No selector can: it selects nothing. */
export const isValidSelector = (selector: LabelSelector | undefined): boolean => selectorText(selector) !== undefined;

/** What a selector selects, as a function of labels, for a selector that is asked of many objects. An invalid one selects nothing. */
export const labelSelection = (selector: LabelSelector | undefined): ((labels: Labels | undefined) => boolean) =>
  isValidSelector(selector) ? selectorMatcher(selector) : () => false;

/** Whether a valid selector selects these labels; an empty one selects all, a missing one nothing. */
export const selects = (selector: LabelSelector | undefined, labels: Labels | undefined): boolean =>
  labelSelection(selector)(labels);

/** `app=web,!old`; "" for an empty selector and undefined for one that cannot be evaluated. */
export function selectorText(selector: LabelSelector = {}): string | undefined {
  try {
    return formatRequirements(requirementsOf(selector));
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}

/** `a=1,b=2`, or `<none>`. */
export const formatLabels = (labels: Labels = {}): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .join(",") || "<none>";
