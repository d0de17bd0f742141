// Lists that Kubernetes takes for sets or maps: their order does not matter, and adding them up merges them. Follows
// apiserver/pkg/cel/common/values*.go.
import { isEqual, listIncludes } from "./equality.ts";
import { JsonListValue, type JsonReader } from "./json.ts";
import { ArrayList, elementsOf, type ListValue } from "./list.ts";
import type { CelValue } from "./value.ts";

/** `x-kubernetes-list-type: set` */
export class SetList implements ListValue {
  readonly kind = "list";
  readonly #list: ListValue;

  constructor(items: readonly unknown[], read: JsonReader) {
    this.#list = new JsonListValue(items, read);
  }

  get size(): number {
    return this.#list.size;
  }

  at(index: number): CelValue | undefined {
    return this.#list.at(index);
  }

  equals(other: ListValue): boolean {
    if (other.size !== this.size) return false;
    for (const element of elementsOf(other)) if (!listIncludes(this.#list, element)) return false;
    return true;
  }

  concat(other: ListValue): ListValue {
    const elements = [...elementsOf(this.#list)];
    for (const element of elementsOf(other)) if (!listIncludes(this.#list, element)) elements.push(element);
    return new ArrayList(elements);
  }
}

/** `x-kubernetes-list-type: map` */
export class KeyedList implements ListValue {
  readonly kind = "list";
  readonly #list: ListValue;
  readonly #keys: readonly string[];

  constructor(items: readonly unknown[], read: JsonReader, keys: readonly string[]) {
    this.#list = new JsonListValue(items, read);
    this.#keys = keys;
  }

  get size(): number {
    return this.#list.size;
  }

  at(index: number): CelValue | undefined {
    return this.#list.at(index);
  }

  #keyOf(element: CelValue): string {
    const isMap = typeof element === "object" && element !== null && "kind" in element && element.kind === "map";
    return JSON.stringify(this.#keys.map((key) => (isMap ? String(element.find(key) ?? "") : "")));
  }

  #byKey(): Map<string, CelValue> {
    return new Map([...elementsOf(this.#list)].map((element) => [this.#keyOf(element), element]));
  }

  equals(other: ListValue): boolean {
    if (other.size !== this.size) return false;
    const own = this.#byKey();
    for (const element of elementsOf(other)) {
      const mine = own.get(this.#keyOf(element));
      if (mine === undefined || !isEqual(mine, element)) return false;
    }
    return true;
  }

  /** Elements with the same key take the place of those that were there. */
  concat(other: ListValue): ListValue {
    const merged = this.#byKey();
    for (const element of elementsOf(other)) merged.set(this.#keyOf(element), element);
    return new ArrayList([...merged.values()]);
  }
}
