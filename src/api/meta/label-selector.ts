import { type Infer, list, map, type Problem, string, struct } from "#schema/index.ts";
import { selectorProblems } from "#schema/selector.ts";

export const LabelSelectorRequirement = struct(
  "meta/v1.LabelSelectorRequirement",
  {
    key: string(1, "The label to look at.").required(),
    operator: string(2, "How it is compared with the values: In, NotIn, Exists or DoesNotExist.").required(),
    values: list(3, "string", "Values to compare with; none for Exists and DoesNotExist."),
  },
  { doc: "A condition on one label." },
);
export interface LabelSelectorRequirement extends Infer<typeof LabelSelectorRequirement> {}

export const LabelSelector = struct(
  "meta/v1.LabelSelector",
  {
    matchLabels: map(1, "string", "Labels that must be there with these values."),
    matchExpressions: list(2, LabelSelectorRequirement, "Conditions that must all hold."),
  },
  {
    doc: "Chooses objects by their labels; all conditions must hold, and without any all objects are chosen.",
    atomic: true,
    check: (selector): Iterable<Problem> => selectorProblems(selector, ""),
  },
);
export interface LabelSelector extends Infer<typeof LabelSelector> {}
