import type { CelValue } from "./value.ts";

export interface ListValue {
  readonly kind: "list";
  readonly size: number;
  /** The element, undefined beyond the ends. */
  at(index: number): CelValue | undefined;
  /** Lists that are sets or maps to Kubernetes compare and add up in ways of their own. */
  equals?(other: ListValue): boolean;
  concat?(other: ListValue): ListValue;
}

/** A list of values that are there already. */
export class ArrayList implements ListValue {
  readonly kind = "list";
  readonly elements: readonly CelValue[];

  constructor(elements: readonly CelValue[]) {
    this.elements = elements;
  }

  get size(): number {
    return this.elements.length;
  }

  at(index: number): CelValue | undefined {
    return this.elements[index];
  }
}

/** The list that a comprehension builds: `list + [x]` adds to it in place, since nobody else can see it. */
export class GrowingList implements ListValue {
  readonly kind = "list";
  readonly elements: CelValue[] = [];

  get size(): number {
    return this.elements.length;
  }

  at(index: number): CelValue | undefined {
    return this.elements[index];
  }

  concat(other: ListValue): ListValue {
    for (const element of elementsOf(other)) this.elements.push(element);
    return this;
  }
}

export function listOf(elements: readonly CelValue[]): ListValue {
  return new ArrayList(elements);
}

export function* elementsOf(list: ListValue): Generator<CelValue> {
  for (let i = 0; i < list.size; i++) {
    const element = list.at(i);
    if (element !== undefined) yield element;
  }
}

export function concatLists(a: ListValue, b: ListValue): ListValue {
  if (a.concat) return a.concat(b);
  if (a.size === 0) return b;
  if (b.size === 0) return a;
  return new ArrayList([...elementsOf(a), ...elementsOf(b)]);
}
