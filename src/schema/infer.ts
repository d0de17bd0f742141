// The TypeScript types that follow from a declaration.
import type { Field } from "./field.ts";
import type { Kind, ObjectFields } from "./kind.ts";
import type { Fields, Struct } from "./struct.ts";

/** An object after defaulting: what is required or has a default is there, the rest may be undefined. */
export type Infer<S> =
  S extends Struct<infer F> ? InferFields<F> : S extends Kind<infer F> ? InferFields<ObjectFields & F> : never;

export type InferFields<F extends Fields> = Flat<
  { readonly [K in keyof F as F[K] extends Field<any, true> ? K : never]: F[K]["infer"] } & {
    readonly [K in keyof F as F[K] extends Field<any, true> ? never : K]?: F[K]["infer"] | undefined;
  }
>;

/** What a client may send: nothing is required, since defaults and the server fill in. */
export type Draft<T> = T extends readonly (infer I)[]
  ? readonly Draft<I>[]
  : T extends object
    ? { readonly [K in keyof T]?: Draft<T[K]> | undefined }
    : T;

/** An object its holder may change: for defaulting and for admission, never for what came from a cache. */
export type Mutable<T> = T extends readonly (infer I)[]
  ? Mutable<I>[]
  : T extends object
    ? { -readonly [K in keyof T]: Mutable<T[K]> }
    : T;

type Flat<T> = { [K in keyof T]: T[K] };
