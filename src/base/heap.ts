/** A binary heap: `pop` gives the smallest by `compare`. */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #compare: (a: T, b: T) => number;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    this.#items.push(item);
    this.#up(this.#items.length - 1);
  }

  pop(): T | undefined {
    return this.#takeAt(0);
  }

  /** Removes the item if it is there; linear in the size of the heap. */
  remove(item: T): boolean {
    const at = this.#items.indexOf(item);
    if (at < 0) return false;
    this.#takeAt(at);
    return true;
  }

  #takeAt(at: number): T | undefined {
    const items = this.#items;
    const taken = items[at];
    const last = items.pop();
    if (at < items.length) {
      items[at] = last as T;
      this.#up(at);
      this.#down(at);
    }
    return taken;
  }

  #up(at: number): void {
    const items = this.#items;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#compare(items[at] as T, items[parent] as T) >= 0) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #down(at: number): void {
    const items = this.#items;
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < items.length && this.#compare(items[child] as T, items[least] as T) < 0) least = child;
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #swap(a: number, b: number): void {
    const items = this.#items;
    [items[a], items[b]] = [items[b] as T, items[a] as T];
  }
}
