// How many pods that a constraint counts are at each place.
// Upstream: pkg/scheduler/framework/plugins/podtopologyspread/filtering.go and pkg/scheduler/framework/plugins/podtopologyspread/scoring.go.
import type { NodeState } from "../node-state.ts";
import type { Topology } from "../topology.ts";
import type { SpreadConstraint } from "./spread-constraint.ts";

interface SpreadOptions {
  /** Pods that count, by slot of a node. */
  readonly perNode: Int32Array;
  /** 1 if the pod itself would count, else 0. */
  readonly self: 0 | 1;
}

/** A place where no node counts has this. */
const absent = -1;

export class Spread {
  readonly constraint: SpreadConstraint;
  readonly self: 0 | 1;
  readonly #topology: Topology;
  readonly #perNode: Int32Array;
  readonly #counts: Int32Array;
  /** How many places have a node that counts. */
  #places = 0;
  /** The smallest count of a place; undefined when it must be looked for again. */
  #least: number | undefined;

  constructor(
    constraint: SpreadConstraint,
    topology: Topology,
    { perNode, self }: SpreadOptions,
    counts = new Int32Array(topology.size).fill(absent),
  ) {
    this.constraint = constraint;
    this.self = self;
    this.#topology = topology;
    this.#perNode = perNode;
    this.#counts = counts;
  }

  /** The node, with its pods, counts at its place. */
  include({ slot }: NodeState): void {
    this.#include(slot);
  }

  /** All nodes that have the labels of the others, too. */
  includeAll(others: readonly Spread[]): void {
    const { placeOf } = this.#topology;
    for (let slot = 0; slot < placeOf.length; slot++)
      if ((placeOf[slot] as number) >= 0 && isAtAll(others, slot)) this.#include(slot);
  }

  #include(slot: number): void {
    const place = this.#topology.placeOf[slot] ?? absent;
    if (place < 0) return;
    const counts = this.#counts;
    let count = counts[place] as number;
    if (count === absent) {
      this.#places++;
      count = 0;
    }
    counts[place] = count + (this.#perNode[slot] as number);
  }

  /** Whether the node of a slot has the label. */
  isAt(slot: number): boolean {
    return (this.#topology.placeOf[slot] as number) >= 0;
  }

  has({ slot }: NodeState): boolean {
    return (this.#topology.placeOf[slot] ?? absent) >= 0;
  }

  /** Pods that count at the node's place. */
  at({ slot }: NodeState): number {
    const place = this.#topology.placeOf[slot] ?? absent;
    return place < 0 ? 0 : Math.max(0, this.#counts[place] as number);
  }

  /** Pods that count on the node alone. */
  on({ slot }: NodeState): number {
    return this.#perNode[slot] ?? 0;
  }

  /** The smallest count of a domain; 0 if there are fewer domains than minDomains. */
  least(minDomains: number): number {
    if (this.#places < minDomains) return 0;
    this.#least ??= leastOf(this.#counts);
    return this.#least;
  }

  /** How many places the nodes are at; having no place is like one more. */
  placesOf(nodes: readonly NodeState[]): number {
    const seen = new Uint8Array(this.#topology.size + 1);
    let places = 0;
    for (const { slot } of nodes) {
      const place = (this.#topology.placeOf[slot] ?? absent) + 1;
      if (seen[place] === 1) continue;
      seen[place] = 1;
      places++;
    }
    return places;
  }

  /** A pod that counts has come to a node, or has left it. */
  add({ slot }: NodeState, by: 1 | -1): void {
    const place = this.#topology.placeOf[slot] ?? absent;
    if (place < 0) return;
    if (this.#counts[place] === absent) {
      this.#places++;
      this.#counts[place] = 0;
    }
    this.#counts[place] = (this.#counts[place] as number) + by;
    this.#least = undefined;
  }

  copy(): Spread {
    const same = new Spread(
      this.constraint,
      this.#topology,
      { perNode: this.#perNode, self: this.self },
      this.#counts.slice(),
    );
    same.#places = this.#places;
    same.#least = this.#least;
    return same;
  }
}

function isAtAll(spreads: readonly Spread[], slot: number): boolean {
  for (let i = 0; i < spreads.length; i++) if (!(spreads[i] as Spread).isAt(slot)) return false;
  return true;
}

function leastOf(counts: Int32Array): number {
  let least = Infinity;
  for (const count of counts) if (count !== absent && count < least) least = count;
  return least;
}
