import type { NodeState } from "./node-state.ts";

const unknown = 0;
const yes = 1;
const no = 2;

/** Caches which nodes match a selector: the pods of a workload evaluate the same selector thousands of times. */
export class NodeSelection {
  readonly #matches: (node: NodeState) => boolean;
  /** By slot. */
  readonly #known: Uint8Array;

  constructor(matches: (node: NodeState) => boolean, slots: number) {
    this.#matches = matches;
    this.#known = new Uint8Array(slots);
  }

  has(node: NodeState): boolean {
    const known = this.#known[node.slot];
    if (known !== unknown) return known === yes;
    const matches = this.#matches(node);
    this.#known[node.slot] = matches ? yes : no;
    return matches;
  }
}
