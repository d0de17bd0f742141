import type { AnyField } from "./any.ts";
import type { InferFields, Mutable } from "./infer.ts";
import type { AnyKind } from "./kind.ts";
import type { Problem } from "./problem.ts";

export type Fields = Readonly<Record<string, AnyField>>;

/** What cannot be said field by field. */
export interface StructRules<F extends Fields> {
  readonly doc?: string;
  /** Owned as a whole by whoever applies it. */
  readonly atomic?: boolean;
  /** There is no protobuf form of it. */
  readonly jsonOnly?: boolean;
  /** At most one of these fields may be set; `discriminator` names the one that is. */
  readonly union?: { readonly discriminator?: string; readonly fields: Readonly<Record<string, string>> };
  /** Defaults that depend on other fields. Runs after the fields' own defaults, before those of nested structs. */
  complete?(value: Mutable<InferFields<F>>): void;
  /**
   * Fields in the order in which their problems are reported, those of `check` among them, where that is not the order of declaration.
   * Fields that are not named come last, or where `*` stands. `template.metadata` names a part of a field, and `name:Duplicate` those of
   * its problems that have a type; `.` is the struct itself.
   */
  readonly problemOrder?: string;
  /** What is validated in place of the value, where a part becomes whole only later. */
  checkedAs?(value: InferFields<F>): InferFields<F>;
  /**
   * Problems beyond those of the single fields, with paths relative to this struct. On update `old` is the struct as stored; in a list
   * or a map, the item with the same keys, which is looked for only if the check has a parameter for it.
   * Where it calls a function that takes this very struct, its result must be annotated: the type is still being inferred.
   */
  check?(value: InferFields<F>, old: InferFields<F> | undefined): Iterable<Problem>;
  /** Problems that are there because of others; asked for only when there are some, with paths relative to this struct. */
  consequences?(value: InferFields<F>, problems: readonly Problem[]): Iterable<Problem>;
}

/** A named group of fields. The name is the package, the version and the Go type: "core/v1.PodSpec". */
export interface Struct<F extends Fields> extends StructRules<F> {
  readonly name: string;
  readonly fields: F;
}

export type AnyStruct = Struct<any>;

/** What a kind or a struct is made of. */
export const structOf = (subject: AnyKind | AnyStruct): AnyStruct => ("struct" in subject ? subject.struct : subject);

export const struct = <const F extends Fields>(name: string, fields: F, rules: StructRules<F> = {}): Struct<F> => ({
  ...rules,
  name,
  fields,
});
