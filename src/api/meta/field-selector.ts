import { type Infer, list, string, struct } from "#schema/index.ts";

export const FieldSelectorRequirement = struct("meta/v1.FieldSelectorRequirement", {
  key: string(1).required(),
  operator: string(2).required(),
  values: list(3, "string"),
});
export interface FieldSelectorRequirement extends Infer<typeof FieldSelectorRequirement> {}
