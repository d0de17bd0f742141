// A kind whose schema comes at run time.
import { json } from "../field.ts";
import { type AnyKind, type KindRules, resource } from "../kind.ts";
import { type StructuralOptions, structural } from "./model.ts";

type GivenRules = Omit<KindRules<Record<never, never>>, "fields" | "model" | "anyFinalizers" | "complete" | "check">;

export interface StructuralKindRules extends GivenRules, StructuralOptions {
  /** JSON Schema, as in a CustomResourceDefinition. */
  readonly schema: Readonly<Record<string, unknown>>;
}

export function structuralKind({ schema, rules, check, ...others }: StructuralKindRules): AnyKind {
  const model = structural(schema, { ...(rules && { rules }), ...(check && { check }) });
  const fields = Object.fromEntries(model.fieldNames.map((name) => [name, json(0)]));
  return resource({ ...others, fields, model, anyFinalizers: true });
}
