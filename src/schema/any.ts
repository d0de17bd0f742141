import type { Field } from "./field.ts";

/** A field whose type is not of interest. */
export type AnyField = Field<any, boolean>;
