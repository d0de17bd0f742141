// The cache of an informer: the objects of one kind, by key and by index.
import { controllerOf } from "#rules/owners.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import { keyOf, type ObjectKey } from "./object-key.ts";

/** A way to find objects: by each of the values it gives for an object. Two places that share an Index share its work. */
export interface Index<K extends AnyKind> {
  readonly kind: K;
  values(object: Infer<K>): readonly string[];
}

export const index = <K extends AnyKind>(kind: K, values: (object: Infer<K>) => readonly string[]): Index<K> => ({
  kind,
  values,
});

type Entries<O> = Map<string, Map<string, O>>;

/** Reads are of the present; what is returned does not change afterwards. */
export class Cache<O> {
  readonly #objects = new Map<string, O>();
  readonly #indexes = new Map<(object: O) => readonly string[], Entries<O>>();
  readonly #byNamespace = (object: O): readonly string[] => [metadataOf(object).namespace ?? ""];
  readonly #byController = (object: O): readonly string[] => {
    const owner = controllerOf(object);
    return owner ? [owner.uid] : [];
  };

  get size(): number {
    return this.#objects.size;
  }

  get(key: string | ObjectKey): O | undefined {
    return this.#objects.get(typeof key === "string" ? key : keyOf(key));
  }

  keys(): IteratorObject<string> {
    return this.#objects.keys();
  }

  /** All objects, or those of one namespace. */
  list(namespace?: string): readonly O[] {
    return namespace === undefined ? [...this.#objects.values()] : this.by(this.#byNamespace, namespace);
  }

  /** The objects controlled by the owner with this uid. */
  owned(uid: string): readonly O[] {
    return this.by(this.#byController, uid);
  }

  /** The objects for which `values` gives `value`. The first call builds the index, which is kept up to date from then on. */
  by(values: (object: O) => readonly string[], value: string): readonly O[] {
    return [...(this.#index(values).get(value)?.values() ?? [])];
  }

  /** How many objects `by` would return. */
  count(values: (object: O) => readonly string[], value: string): number {
    return this.#index(values).get(value)?.size ?? 0;
  }

  #index(values: (object: O) => readonly string[]): Entries<O> {
    const present = this.#indexes.get(values);
    if (present) return present;
    const entries: Entries<O> = new Map();
    this.#indexes.set(values, entries);
    for (const [key, object] of this.#objects) for (const one of values(object)) enter(entries, one, key, object);
    return entries;
  }

  /** Returns the object that was there before. It is replaced in place: deleting and adding would make V8 rebuild the map again and again. */
  set(key: string, object: O): O | undefined {
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const [values, entries] of this.#indexes) {
      const now = values(object);
      if (old !== undefined) for (const one of values(old)) if (!now.includes(one)) leave(entries, one, key);
      for (const one of now) enter(entries, one, key, object);
    }
    return old;
  }

  delete(key: string): O | undefined {
    const old = this.#objects.get(key);
    if (old === undefined) return undefined;
    this.#objects.delete(key);
    for (const [values, entries] of this.#indexes) for (const one of values(old)) leave(entries, one, key);
    return old;
  }

  clear(): void {
    this.#objects.clear();
    this.#indexes.clear();
  }
}

function enter<O>(entries: Entries<O>, value: string, key: string, object: O): void {
  const same = entries.get(value);
  if (same) same.set(key, object);
  else entries.set(value, new Map([[key, object]]));
}

function leave<O>(entries: Entries<O>, value: string, key: string): void {
  const same = entries.get(value);
  same?.delete(key);
  if (same?.size === 0) entries.delete(value);
}
