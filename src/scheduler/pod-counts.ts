// How many pods of a kind are on each node, kept up as pods come and go, so that no cycle has to look at all pods.
import type { Labels } from "#schema/selector.ts";
import type { AffinityTerm } from "./affinity-term.ts";
import type { PodView } from "./pod-view.ts";

/** Which pods to count. Two with the same id are the same. */
export interface PodCountQuery {
  readonly id: string;
  /** Those of these namespaces, or of all there are and will be. */
  readonly namespaces: readonly string[] | "all";
  readonly matches: (labels: Labels | undefined) => boolean;
  /** Whether pods that are being deleted count. */
  readonly endingToo: boolean;
}

/** Numbers by slot of a node. */
export class PerNode {
  values: Int32Array;
  total = 0;

  constructor(slots: number) {
    this.values = new Int32Array(slots);
  }

  add(slot: number, by: number): void {
    this.values[slot] = (this.values[slot] ?? 0) + by;
    this.total += by;
  }

  grow(slots: number): void {
    const values = new Int32Array(slots);
    values.set(this.values);
    this.values = values;
  }
}

interface Counter {
  readonly counted: PodCountQuery;
  readonly perNode: PerNode;
}

/** Terms of existing pods that apply to pods to be placed. */
export interface TermUse {
  readonly term: AffinityTerm;
  /** Pods that must not have such a pod near. */
  readonly apart: PerNode;
  /** Pods that must have such a pod near. */
  readonly near: PerNode;
  /** Weights of pods that would rather have such a pod near, less those that would rather not. */
  readonly rather: PerNode;
  /** How many terms of pods there are. */
  uses: number;
}

const mostCounters = 1000;

export class PodCounts {
  #slots = 0;
  /** The one asked for longest ago first. */
  readonly #counters = new Map<string, Counter>();
  readonly #byNamespace = new Map<string, Set<Counter>>();
  readonly #everywhere = new Set<Counter>();
  readonly #terms = new Map<string, TermUse>();
  #apartTerms = 0;

  get terms(): Iterable<TermUse> {
    return this.#terms.values();
  }

  get hasTerms(): boolean {
    return this.#terms.size > 0;
  }

  /** Whether any pod must be kept apart from others. */
  get hasApart(): boolean {
    return this.#apartTerms > 0;
  }

  /** The counts as they are now and will be. `pods` gives all pods of namespaces, for what was not counted before. */
  of(
    counted: PodCountQuery,
    pods: (namespaces: PodCountQuery["namespaces"]) => Iterable<readonly [PodView, number]>,
  ): PerNode {
    const known = this.#counters.get(counted.id);
    if (known) {
      this.#counters.delete(counted.id);
      this.#counters.set(counted.id, known);
      return known.perNode;
    }
    if (this.#counters.size >= mostCounters) this.#forgetOldest();
    const counter: Counter = { counted, perNode: new PerNode(this.#slots) };
    this.#counters.set(counted.id, counter);
    for (const counters of this.#listsOf(counted)) counters.add(counter);
    for (const [pod, slot] of pods(counted.namespaces)) if (isCounted(counted, pod)) counter.perNode.add(slot, 1);
    return counter.perNode;
  }

  add(pod: PodView, slot: number): void {
    this.#count(pod, slot, 1);
  }

  remove(pod: PodView, slot: number): void {
    this.#count(pod, slot, -1);
  }

  /** Makes room for more nodes. */
  grow(slots: number): void {
    this.#slots = slots;
    for (const { perNode } of this.#counters.values()) perNode.grow(slots);
    for (const { apart, near, rather } of this.#terms.values())
      for (const numbers of [apart, near, rather]) numbers.grow(slots);
  }

  #count(pod: PodView, slot: number, by: 1 | -1): void {
    for (const counters of [this.#byNamespace.get(pod.namespace), this.#everywhere])
      if (counters) for (const { counted, perNode } of counters) if (isCounted(counted, pod)) perNode.add(slot, by);
    const { near, apart, ratherNear, ratherApart } = pod.affinities;
    for (const term of apart) {
      this.#use(term, by).apart.add(slot, by);
      this.#apartTerms += by;
    }
    for (const term of near) this.#use(term, by).near.add(slot, by);
    for (const { term, weight } of ratherNear) this.#use(term, by).rather.add(slot, by * weight);
    for (const { term, weight } of ratherApart) this.#use(term, by).rather.add(slot, -by * weight);
  }

  #use(term: AffinityTerm, by: 1 | -1): TermUse {
    let use = this.#terms.get(term.id);
    if (!use) {
      const slots = this.#slots;
      use = { term, apart: new PerNode(slots), near: new PerNode(slots), rather: new PerNode(slots), uses: 0 };
      this.#terms.set(term.id, use);
    }
    use.uses += by;
    if (use.uses === 0) this.#terms.delete(term.id);
    return use;
  }

  #listsOf({ namespaces }: PodCountQuery): readonly Set<Counter>[] {
    if (namespaces === "all") return [this.#everywhere];
    return namespaces.map((namespace) => {
      const counters = this.#byNamespace.get(namespace) ?? new Set();
      this.#byNamespace.set(namespace, counters);
      return counters;
    });
  }

  #forgetOldest(): void {
    for (const [id, counter] of this.#counters) {
      this.#counters.delete(id);
      const { namespaces } = counter.counted;
      for (const counters of this.#listsOf(counter.counted)) counters.delete(counter);
      if (namespaces !== "all")
        for (const namespace of namespaces)
          if (this.#byNamespace.get(namespace)?.size === 0) this.#byNamespace.delete(namespace);
      return;
    }
  }
}

const isCounted = ({ endingToo, matches }: PodCountQuery, pod: PodView): boolean =>
  (endingToo || !pod.isEnding) && matches(pod.labels);
