// Objects of a kind that is only known at run time: for code that serves all kinds alike.
import type { Mutable } from "./infer.ts";
import type { ObjectMeta } from "./object-meta.ts";

/** Any object. What is inside depends on its kind, so it is read with the kind's declaration at hand. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: any;
}

/** An object on its way in, owned by the request that carries it. */
export interface DraftObject {
  apiVersion: string;
  kind: string;
  metadata: Mutable<ObjectMeta>;
  [field: string]: any;
}

/** The metadata of an object of any kind: every kind has it, though the compiler cannot see that of a kind it does not know. */
export const metadataOf = (object: unknown): ObjectMeta => (object as ApiObject).metadata ?? {};
