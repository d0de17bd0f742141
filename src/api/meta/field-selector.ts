import { type Infer, list, string, struct } from "#schema/index.ts";

export const FieldSelectorRequirement = struct(
  "meta/v1.FieldSelectorRequirement",
  {
    key: string(1, "Path of the field.").required(),
    operator: string(2, "How it is compared with the values: In, NotIn, Exists or DoesNotExist.").required(),
    values: list(3, "string", "Values to compare with; none for Exists and DoesNotExist."),
  },
  { doc: "A condition on one field." },
);
export interface FieldSelectorRequirement extends Infer<typeof FieldSelectorRequirement> {}
