// A node as the scheduler sees it: what it has, what its pods have taken, and which pods those are, assumed ones included.
import type { Node, Taint } from "#api/core/v1/node.ts";
import { HostPorts } from "./host-ports.ts";
import * as column from "./node-table.ts";
import { NodeTable } from "./node-table.ts";
import type { PodView } from "./pod-view.ts";
import { amount, type ResourceVector, resourcesOf } from "./resources.ts";

export class NodeState {
  readonly name: string;
  /** Its place in arrays that have an entry per node. It stays as long as the node does, and is given to another after that. */
  readonly slot: number;
  readonly #table: NodeTable;
  /** Where its numbers begin in the table. */
  readonly #at: number;
  isUnschedulable = false;
  /** Whether it has taints that keep pods away. */
  isTainted = false;
  node: Node;
  labels: Readonly<Record<string, string>>;
  allocatable: ResourceVector = resourcesOf(undefined);
  allowedPods = 0;
  /** Taints that keep pods away. */
  hardTaints: readonly Taint[] = [];
  /** Taints that are better avoided. */
  softTaints: readonly Taint[] = [];
  /** Sizes of the images it has, by all their names. */
  images: ReadonlyMap<string, number> = new Map();

  readonly pods = new Map<string, PodView>();
  /** What is taken of resources with names of their own. */
  readonly others = new Map<string, number>();
  ports = new HostPorts();

  /** The numbers are in the row of the table, which is the node's as long as it is there. */
  constructor(node: Node, slot: number, table = new NodeTable(1), row = 0) {
    this.name = node.metadata.name;
    this.slot = slot;
    this.#table = table;
    this.#at = column.startOf(row);
    table.values.fill(0, this.#at, column.startOf(row + 1));
    this.node = node;
    this.labels = node.metadata.labels ?? {};
    this.update(node);
  }

  get podsLeft(): number {
    return this.#table.values[this.#at + column.podsLeft] as number;
  }
  get cpuLeft(): number {
    return this.#table.values[this.#at + column.cpuLeft] as number;
  }
  get memoryLeft(): number {
    return this.#table.values[this.#at + column.memoryLeft] as number;
  }
  get storageLeft(): number {
    return this.#table.values[this.#at + column.storageLeft] as number;
  }
  get cpu(): number {
    return this.#table.values[this.#at + column.cpuTaken] as number;
  }
  get memory(): number {
    return this.#table.values[this.#at + column.memoryTaken] as number;
  }
  get storage(): number {
    return this.#table.values[this.#at + column.storageTaken] as number;
  }
  get likelyCpu(): number {
    return this.#table.values[this.#at + column.cpuLikely] as number;
  }
  get likelyMemory(): number {
    return this.#table.values[this.#at + column.memoryLikely] as number;
  }
  get cpuCapacity(): number {
    return this.#table.values[this.#at + column.cpuCapacity] as number;
  }
  get memoryCapacity(): number {
    return this.#table.values[this.#at + column.memoryCapacity] as number;
  }

  update(node: Node): void {
    const { spec, status, metadata } = node;
    this.node = node;
    this.labels = metadata.labels ?? {};
    this.allocatable = resourcesOf(status.allocatable);
    this.allowedPods = amount("pods", status.allocatable?.pods ?? "0");
    this.isUnschedulable = spec.unschedulable ?? false;
    const taints = spec.taints ?? [];
    this.hardTaints = taints.filter(({ effect }) => effect === "NoSchedule" || effect === "NoExecute");
    this.isTainted = this.hardTaints.length > 0;
    this.softTaints = taints.filter(({ effect }) => effect === "PreferNoSchedule");
    this.images = new Map(
      (status.images ?? []).flatMap(({ names, sizeBytes = 0 }) =>
        (names ?? []).map((name) => [name, sizeBytes] as const),
      ),
    );
    this.#count();
  }

  add(pod: PodView): void {
    this.pods.set(pod.uid, pod);
    this.#take(pod, 1);
    if (pod.ports.length > 0) this.ports.add(pod.ports);
  }

  /** Gives back what the pod took when it came, which need not be what it says now. */
  remove(uid: string): PodView | undefined {
    const pod = this.pods.get(uid);
    if (!pod) return undefined;
    this.pods.delete(uid);
    this.#take(pod, -1);
    if (pod.ports.length > 0) this.ports.remove(pod.ports);
    return pod;
  }

  /** The same node apart from all others, to try out what would be if pods came or went. */
  copy(): NodeState {
    const same = new NodeState(this.node, this.slot);
    same.ports = this.ports.copy();
    for (const [uid, pod] of this.pods) same.pods.set(uid, pod);
    for (const [name, taken] of this.others) same.others.set(name, taken);
    same.#table.values.set(this.#table.values.subarray(this.#at, this.#at + same.#table.values.length));
    return same;
  }

  #take({ request }: PodView, times: 1 | -1): void {
    const { values } = this.#table;
    const add = (which: number, value: number) => {
      values[this.#at + which] = (values[this.#at + which] as number) + times * value;
    };
    add(column.cpuTaken, request.cpu);
    add(column.memoryTaken, request.memory);
    add(column.storageTaken, request.storage);
    add(column.cpuLikely, request.likelyCpu);
    add(column.memoryLikely, request.likelyMemory);
    for (const [name, value] of request.others) this.others.set(name, (this.others.get(name) ?? 0) + times * value);
    this.#count();
  }

  /** What follows from what there is and what was taken. */
  #count(): void {
    const { values } = this.#table;
    const at = this.#at;
    const { cpu, memory, storage } = this.allocatable;
    values[at + column.podsLeft] = this.allowedPods - this.pods.size;
    values[at + column.cpuLeft] = cpu - this.cpu;
    values[at + column.memoryLeft] = memory - this.memory;
    values[at + column.storageLeft] = storage - this.storage;
    values[at + column.cpuCapacity] = cpu;
    values[at + column.memoryCapacity] = memory;
  }
}
