import { type Infer, ref, string, struct } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";

export const ParamKind = struct(
  "admissionregistration/v1.ParamKind",
  {
    apiVersion: string(1),
    kind: string(2),
  },
  { atomic: true },
);
export interface ParamKind extends Infer<typeof ParamKind> {}

export const ParamRef = struct(
  "admissionregistration/v1.ParamRef",
  {
    name: string(1),
    namespace: string(2),
    selector: ref(3, LabelSelector),
    parameterNotFoundAction: string(4).pointer(),
  },
  { atomic: true },
);
export interface ParamRef extends Infer<typeof ParamRef> {}

export const Variable = struct(
  "admissionregistration/v1.Variable",
  {
    name: string(1).required(),
    expression: string(2).required(),
  },
  { atomic: true },
);
export interface Variable extends Infer<typeof Variable> {}
