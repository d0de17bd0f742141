// Numbers by place: of pods, or of what they weigh, on all nodes that share a value of a label.
import type { NodeState } from "./node-state.ts";
import type { Topology } from "./topology.ts";

export class PlaceCounts {
  readonly #placeOf: Int32Array;
  readonly #counts: Int32Array;
  #total = 0;

  constructor({ placeOf, size }: Pick<Topology, "placeOf" | "size">, counts = new Int32Array(size)) {
    this.#placeOf = placeOf;
    this.#counts = counts;
  }

  /** The sum over all places. */
  get total(): number {
    return this.#total;
  }

  /** Adds what is on each node, by slot. */
  addAll(perNode: Int32Array, times = 1): void {
    const placeOf = this.#placeOf;
    const counts = this.#counts;
    const slots = Math.min(perNode.length, placeOf.length);
    for (let slot = 0; slot < slots; slot++) {
      const value = perNode[slot] as number;
      if (value === 0) continue;
      const place = placeOf[slot] as number;
      if (place < 0) continue;
      counts[place] = (counts[place] as number) + times * value;
      this.#total += times * value;
    }
  }

  add({ slot }: NodeState, by: number): void {
    const place = this.#placeOf[slot] ?? -1;
    if (place < 0) return;
    this.#counts[place] = (this.#counts[place] as number) + by;
    this.#total += by;
  }

  has({ slot }: NodeState): boolean {
    return (this.#placeOf[slot] ?? -1) >= 0;
  }

  /** The number at the node's place; 0 if it is at none. */
  at({ slot }: NodeState): number {
    const place = this.#placeOf[slot] ?? -1;
    return place < 0 ? 0 : (this.#counts[place] as number);
  }

  copy(): PlaceCounts {
    const same = new PlaceCounts({ placeOf: this.#placeOf, size: 0 }, this.#counts.slice());
    same.#total = this.#total;
    return same;
  }
}
