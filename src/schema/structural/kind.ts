// A kind whose schema comes at run time.
import { json } from "../field.ts";
import { type AnyKind, type KindRules, resource } from "../kind.ts";
import { structural } from "./model.ts";
import type { ValidationOptions } from "./validation.ts";

/** What follows from the schema, or is validated together with it. */
type DerivedRule = "fields" | "model" | "anyFinalizers" | "complete" | "check" | "checkStatus";

export interface StructuralKindRules extends Omit<KindRules<Record<never, never>>, DerivedRule>, ValidationOptions {
  /** JSON Schema, as in a CustomResourceDefinition. */
  readonly schema: Readonly<Record<string, unknown>>;
}

export function structuralKind({ schema, rules, check, checkStatus, ...others }: StructuralKindRules): AnyKind {
  const model = structural(schema, {
    ...(rules && { rules }),
    ...(check && { check }),
    ...(checkStatus && { checkStatus }),
  });
  const fields = Object.fromEntries(model.fieldNames.map((name) => [name, json(0)]));
  return resource({ ...others, fields, model, anyFinalizers: true });
}
