// What declarations are made of. Everything derived from them is imported from its own file.
export * from "./field.ts";
export type { Draft, Infer, Mutable } from "./infer.ts";
export { type AnyKind, type Column, type Kind, type RowCondition, resource } from "./kind.ts";
export { ObjectMeta } from "./object-meta.ts";
export * from "./problem.ts";
export { type AnyStruct, struct } from "./struct.ts";
