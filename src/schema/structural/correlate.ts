// Which part of the stored object a part of the new one was: fields and entries by name, items of lists by their keys. Follows
// apiserver/pkg/cel/common/equality.go. Items of other lists have no counterpart.
import { equal, own } from "#base/collections.ts";
import type { JsonMap } from "../apply/value.ts";
import { itemFinder } from "../correlate.ts";
import { childNode, isMap, type SchemaNode } from "./schema.ts";

/** What a value was before. */
export interface Before {
  readonly old: unknown;
}

/** Finds old values during one validation, and remembers what it has compared. */
export class Correlation {
  readonly #finders = new WeakMap<readonly unknown[], (item: unknown) => unknown>();
  readonly #same = new WeakMap<object, boolean>();

  /** The field or entry before; undefined if it was not there, or if nothing was. */
  field(before: Before | undefined, name: string): Before | undefined {
    const { old } = before ?? {};
    return isMap(old) && Object.hasOwn(old, name) ? { old: old[name] } : undefined;
  }

  item(node: SchemaNode, before: Before | undefined, item: unknown): Before | undefined {
    const { old } = before ?? {};
    if (node.rest.listType !== "map" || node.rest.listKeys.length === 0 || !Array.isArray(old)) return undefined;
    const find = this.#finders.get(old) ?? itemFinder(old, node.rest.listKeys);
    this.#finders.set(old, find);
    const found = find(item);
    return found === undefined || found === null ? undefined : { old: found };
  }

  /** Whether a value is what it was. Items of a list that are told apart by keys may have changed places. */
  isSame(node: SchemaNode | undefined, value: unknown, before: Before | undefined): boolean {
    if (before === undefined) return false;
    if (typeof value !== "object" || value === null) return equal(value, before.old);
    const known = this.#same.get(value);
    if (known !== undefined) return known;
    const same = this.#compare(node, value, before);
    this.#same.set(value, same);
    return same;
  }

  #compare(node: SchemaNode | undefined, value: object, before: Before): boolean {
    const { old } = before;
    if (Array.isArray(value)) {
      if (!Array.isArray(old) || value.length !== old.length) return false;
      if (node?.rest.listType !== "map") return equal(value, old);
      return value.every((item) => this.isSame(node.items, item, this.item(node, before, item)));
    }
    if (!isMap(old)) return false;
    const names = Object.keys(value);
    if (names.length !== Object.keys(old).length) return false;
    return names.every((name) =>
      this.isSame(childNode(node, name), own(value as JsonMap, name), this.field(before, name)),
    );
  }
}
