// Places: all nodes that have the same value of a label are one.
import type { NodeState } from "./node-state.ts";

export class Topology {
  /** The place of each node, by its slot; -1 for one without the label. */
  readonly placeOf: Int32Array;
  readonly #places = new Map<string, number>();

  constructor(key: string, nodes: readonly NodeState[], slots: number) {
    this.placeOf = new Int32Array(slots).fill(-1);
    for (const { labels, slot } of nodes) {
      if (!Object.hasOwn(labels, key)) continue;
      const value = labels[key] ?? "";
      let place = this.#places.get(value);
      if (place === undefined) {
        place = this.#places.size;
        this.#places.set(value, place);
      }
      this.placeOf[slot] = place;
    }
  }

  /** How many places there are. */
  get size(): number {
    return this.#places.size;
  }
}
