// All nodes with their pods, kept up to date change by change.
//
// Upstream copies what has changed before each cycle, because informers go on while it runs. Here a cycle does not give way, so it
// sees one moment without a copy: nothing changes between its first filter and the assumption of its result.
import type { Node } from "#api/core/v1/node.ts";
import type { Labels } from "#schema/selector.ts";
import { NodeSelection } from "./node-selection.ts";
import { NodeState } from "./node-state.ts";
import { NodeTable } from "./node-table.ts";
import { type PerNode, type PodCountQuery, PodCounts, type TermUse } from "./pod-counts.ts";
import type { PodView } from "./pod-view.ts";
import { Topology } from "./topology.ts";

const zoneLabels = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];
const regionLabels = ["topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"];

const mostSelections = 500;

export class Snapshot {
  readonly #nodes = new Map<string, NodeState>();
  readonly #table = new NodeTable(0);
  readonly #freeSlots: number[] = [];
  #slots = 0;
  /** By uid: the node a pod is on, whether that node is known or not. */
  readonly #homes = new Map<string, { readonly pod: PodView; readonly node: string }>();
  /** Pods on nodes that are not known, or no longer. */
  readonly #strays = new Map<string, Map<string, PodView>>();
  readonly #byNamespace = new Map<string, Map<string, PodView>>();
  readonly #counts = new PodCounts();
  readonly #imageNodes = new Map<string, number>();
  #order: readonly NodeState[] | undefined;
  readonly #topologies = new Map<string, Topology>();
  readonly #selections = new Map<string, NodeSelection>();
  #tainted = 0;
  #softTainted = 0;
  #unschedulable = 0;
  /** How many pods on nodes have which priority. */
  readonly #priorities = new Map<number, number>();
  /** How many pods on nodes mount a claim, by its key. */
  readonly #claims = new Map<string, number>();
  /** Differs after every change that a verdict may depend on. */
  generation = 0;

  /** All nodes, those of each zone in turn, so that the first ones are spread over all zones. */
  get nodes(): readonly NodeState[] {
    this.#order ??= inTurn([...this.#nodes.values()]);
    return this.#order;
  }

  /** How long an array with an entry per node must be. */
  get slots(): number {
    return this.#slots;
  }

  /** Whether any node has a taint that keeps pods away. */
  get hasTaints(): boolean {
    return this.#tainted > 0;
  }

  /** Whether any node has a taint that is better avoided. */
  get hasSoftTaints(): boolean {
    return this.#softTainted > 0;
  }

  /** Whether any node takes no new pods. */
  get hasUnschedulable(): boolean {
    return this.#unschedulable > 0;
  }

  /** The nodes that match, cached under the id as long as no labels change. */
  selection(id: string, matcher: () => (node: NodeState) => boolean): NodeSelection {
    let selection = this.#selections.get(id);
    if (!selection) {
      if (this.#selections.size >= mostSelections) this.#selections.clear();
      selection = new NodeSelection(matcher(), this.#slots);
      this.#selections.set(id, selection);
    }
    return selection;
  }

  node(name: string): NodeState | undefined {
    return this.#nodes.get(name);
  }

  /** The pod as it was last seen or assumed, if it has a node. */
  placed(uid: string): { readonly pod: PodView; readonly node: string } | undefined {
    return this.#homes.get(uid);
  }

  topology(key: string): Topology {
    let topology = this.#topologies.get(key);
    if (!topology) {
      topology = new Topology(key, this.nodes, this.#slots);
      this.#topologies.set(key, topology);
    }
    return topology;
  }

  /** How many of such pods are on each node, by slot. Valid for the present cycle. */
  count(counted: PodCountQuery): PerNode {
    return this.#counts.of(counted, (namespaces) => this.#placedIn(namespaces));
  }

  /** What the pods that are there want of others. */
  get terms(): Iterable<TermUse> {
    return this.#counts.terms;
  }

  get hasTerms(): boolean {
    return this.#counts.hasTerms;
  }

  get hasApart(): boolean {
    return this.#counts.hasApart;
  }

  /** Whether any pod on a node is less important. */
  hasLower(priority: number): boolean {
    for (const one of this.#priorities.keys()) if (one < priority) return true;
    return false;
  }

  /** How many pods on nodes mount a claim. */
  claimUsers(key: string): number {
    return this.#claims.get(key) ?? 0;
  }

  /** On how many nodes an image is. */
  nodesWithImage(name: string): number {
    return this.#imageNodes.get(name) ?? 0;
  }

  /** `matters` is false when nothing has changed that a verdict may depend on. */
  setNode(node: Node, matters = true): void {
    const name = node.metadata.name ?? "";
    const known = this.#nodes.get(name);
    if (matters) this.generation++;
    if (known) this.#update(known, node);
    else this.#addNode(name, node);
  }

  removeNode(name: string): void {
    const state = this.#nodes.get(name);
    if (!state) return;
    this.#nodes.delete(name);
    this.#countNode(state, -1);
    for (const pod of state.pods.values()) this.#counts.remove(pod, state.slot);
    if (state.pods.size > 0) this.#strays.set(name, new Map(state.pods));
    this.#freeSlots.push(state.slot);
    this.#nodesChanged();
  }

  /** Puts a pod on a node, or changes it there. */
  setPod(pod: PodView, node: string): void {
    const home = this.#homes.get(pod.uid);
    const state = this.#nodes.get(node);
    if (home && state && home.node === node && pod.isLike(home.pod)) {
      this.#homes.set(pod.uid, { pod, node });
      entered(this.#byNamespace, pod.namespace, pod);
      state.pods.set(pod.uid, pod);
      return;
    }
    if (home) this.removePod(pod.uid);
    this.#homes.set(pod.uid, { pod, node });
    entered(this.#byNamespace, pod.namespace, pod);
    this.#countPod(pod, 1);
    if (state) this.#enter(state, pod);
    else entered(this.#strays, node, pod);
    this.generation++;
  }

  removePod(uid: string): void {
    const home = this.#homes.get(uid);
    if (!home) return;
    const { pod, node } = home;
    this.#homes.delete(uid);
    left(this.#byNamespace, pod.namespace, uid);
    this.#countPod(pod, -1);
    const state = this.#nodes.get(node);
    if (!state) left(this.#strays, node, uid);
    else if (state.remove(uid)) this.#counts.remove(pod, state.slot);
    this.generation++;
  }

  #countPod({ priority, claims }: PodView, by: 1 | -1): void {
    count(this.#priorities, priority, by);
    for (const claim of claims) count(this.#claims, claim, by);
  }

  #enter(state: NodeState, pod: PodView): void {
    state.add(pod);
    this.#counts.add(pod, state.slot);
  }

  #addNode(name: string, node: Node): void {
    let slot = this.#freeSlots.pop();
    if (slot === undefined) {
      if (this.#nodes.size >= this.#slots) this.#grow();
      slot = this.#nodes.size;
    }
    const state = new NodeState(node, slot, this.#table, slot);
    this.#nodes.set(name, state);
    this.#countNode(state, 1);
    for (const pod of this.#strays.get(name)?.values() ?? []) this.#enter(state, pod);
    this.#strays.delete(name);
    this.#nodesChanged();
  }

  #update(state: NodeState, node: Node): void {
    const before = state.labels;
    this.#countNode(state, -1);
    state.update(node);
    this.#countNode(state, 1);
    if (!sameLabels(before, state.labels)) this.#nodesChanged();
  }

  #countNode({ images, isTainted, softTaints, isUnschedulable }: NodeState, by: 1 | -1): void {
    if (isTainted) this.#tainted += by;
    if (softTaints.length > 0) this.#softTainted += by;
    if (isUnschedulable) this.#unschedulable += by;
    for (const name of images.keys()) count(this.#imageNodes, name, by);
  }

  #nodesChanged(): void {
    this.generation++;
    this.#order = undefined;
    this.#topologies.clear();
    this.#selections.clear();
  }

  #grow(): void {
    this.#slots = Math.max(64, this.#slots * 2);
    this.#table.grow(this.#slots);
    this.#counts.grow(this.#slots);
    this.#topologies.clear();
  }

  *#placedIn(namespaces: PodCountQuery["namespaces"]): Iterable<readonly [PodView, number]> {
    const all =
      namespaces === "all" ? [...this.#byNamespace.values()] : namespaces.map((one) => this.#byNamespace.get(one));
    for (const pods of all)
      for (const pod of pods?.values() ?? []) {
        const state = this.#nodes.get(this.#homes.get(pod.uid)?.node ?? "");
        if (state) yield [pod, state.slot];
      }
  }
}

function count<K>(counts: Map<K, number>, key: K, by: 1 | -1): void {
  const sum = (counts.get(key) ?? 0) + by;
  if (sum > 0) counts.set(key, sum);
  else counts.delete(key);
}

function entered(groups: Map<string, Map<string, PodView>>, group: string, pod: PodView): void {
  const present = groups.get(group);
  if (present) present.set(pod.uid, pod);
  else groups.set(group, new Map([[pod.uid, pod]]));
}

function left(groups: Map<string, Map<string, PodView>>, group: string, uid: string): void {
  const present = groups.get(group);
  present?.delete(uid);
  if (present?.size === 0) groups.delete(group);
}

function sameLabels(a: Labels, b: Labels): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

function inTurn(nodes: readonly NodeState[]): readonly NodeState[] {
  const zones = new Map<string, NodeState[]>();
  for (const state of nodes) {
    const zone = `${first(state, regionLabels)}\n${first(state, zoneLabels)}`;
    const same = zones.get(zone);
    if (same) same.push(state);
    else zones.set(zone, [state]);
  }
  if (zones.size < 2) return nodes;
  const order: NodeState[] = [];
  for (let i = 0; order.length < nodes.length; i++)
    for (const zone of zones.values()) {
      const state = zone[i];
      if (state) order.push(state);
    }
  return order;
}

const first = ({ labels }: NodeState, keys: readonly string[]): string => {
  for (const key of keys) if (labels[key]) return labels[key];
  return "";
};
