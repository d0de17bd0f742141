import type { Problem } from "#schema/index.ts";
import { type Infer, ref, string, struct } from "#schema/index.ts";
import { formatSelector } from "#schema/selector.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { checkParamRef } from "./policy-checks.ts";

export const ParamKind = struct(
  "admissionregistration/v1.ParamKind",
  {
    apiVersion: string(1, "Group and version of the parameters."),
    kind: string(2, "Kind of the parameters."),
  },
  { atomic: true },
);
export interface ParamKind extends Infer<typeof ParamKind> {}

export const ParamRef = struct(
  "admissionregistration/v1.ParamRef",
  {
    name: string(1, "Name of the object that holds the parameters."),
    namespace: string(2, "Its namespace; that of the request if absent."),
    selector: ref(3, LabelSelector, "Instead of a name, selects objects, each of which is used."),
    parameterNotFoundAction: string(4, "What to do when there are none: Allow or Deny.").pointer(),
  },
  {
    atomic: true,
    *check(ref): Iterable<Problem> {
      yield* checkParamRef(ref);
    },
  },
);
export interface ParamRef extends Infer<typeof ParamRef> {}

export const Variable = struct(
  "admissionregistration/v1.Variable",
  {
    name: string(1, "Name under which expressions find it, as variables.name.").required(),
    expression: string(2, "A CEL expression that gives its value.").required(),
  },
  { atomic: true },
);
export interface Variable extends Infer<typeof Variable> {}

export const paramKindText = (kind: ParamKind | undefined): string =>
  kind ? `${kind.apiVersion ?? ""}/${kind.kind ?? ""}` : "<unset>";

export function paramRefText(ref: ParamRef | undefined): string {
  if (!ref) return "<unset>";
  if (ref.name) return `${ref.namespace || "*"}/${ref.name}`;
  return ref.selector ? formatSelector(ref.selector) : "";
}
