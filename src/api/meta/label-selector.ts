import { type Infer, list, map, string, struct } from "#schema/index.ts";

export const LabelSelectorRequirement = struct("meta/v1.LabelSelectorRequirement", {
  key: string(1).required(),
  operator: string(2).required(),
  values: list(3, "string"),
});
export interface LabelSelectorRequirement extends Infer<typeof LabelSelectorRequirement> {}

export const LabelSelector = struct(
  "meta/v1.LabelSelector",
  {
    matchLabels: map(1, "string"),
    matchExpressions: list(2, LabelSelectorRequirement),
  },
  { atomic: true },
);
export interface LabelSelector extends Infer<typeof LabelSelector> {}
