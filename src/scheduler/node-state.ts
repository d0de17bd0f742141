// A node as the scheduler sees it: what it has, what its pods have taken, and which pods those are, assumed ones included.
import type { Node, Taint } from "#api/core/v1/node.ts";
import { HostPorts } from "./host-ports.ts";
import type { PodView } from "./pod-view.ts";
import { amount, type Resources, resourcesOf } from "./resources.ts";

export class NodeState {
  readonly name: string;
  /** Its place in arrays that have an entry per node. It stays as long as the node does, and is given to another after that. */
  readonly slot: number;
  node: Node;
  labels: Readonly<Record<string, string>>;
  allocatable: Resources = resourcesOf(undefined);
  allowedPods = 0;
  /** Taints that keep pods away. */
  hardTaints: readonly Taint[] = [];
  /** Taints that are better avoided. */
  softTaints: readonly Taint[] = [];
  isUnschedulable = false;
  /** Sizes of the images it has, by all their names. */
  images: ReadonlyMap<string, number> = new Map();
  /** Differs after every change. */
  generation = 0;

  readonly pods = new Map<string, PodView>();
  cpu = 0;
  memory = 0;
  storage = 0;
  readonly others = new Map<string, number>();
  likelyCpu = 0;
  likelyMemory = 0;
  ports = new HostPorts();
  /** How many pods mount a claim, by its key. */
  readonly claims = new Map<string, number>();

  constructor(node: Node, slot: number) {
    this.name = node.metadata.name ?? "";
    this.slot = slot;
    this.node = node;
    this.labels = node.metadata.labels ?? {};
    this.update(node);
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
    this.softTaints = taints.filter(({ effect }) => effect === "PreferNoSchedule");
    this.images = new Map(
      (status.images ?? []).flatMap(({ names, sizeBytes = 0 }) =>
        (names ?? []).map((name) => [name, sizeBytes] as const),
      ),
    );
    this.generation++;
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
    for (const [claim, users] of this.claims) same.claims.set(claim, users);
    same.cpu = this.cpu;
    same.memory = this.memory;
    same.storage = this.storage;
    same.likelyCpu = this.likelyCpu;
    same.likelyMemory = this.likelyMemory;
    return same;
  }

  #take({ request, claims }: PodView, times: 1 | -1): void {
    this.cpu += times * request.cpu;
    this.memory += times * request.memory;
    this.storage += times * request.storage;
    this.likelyCpu += times * request.likelyCpu;
    this.likelyMemory += times * request.likelyMemory;
    for (const [name, value] of request.others) this.others.set(name, (this.others.get(name) ?? 0) + times * value);
    for (const claim of claims) {
      const users = (this.claims.get(claim) ?? 0) + times;
      if (users > 0) this.claims.set(claim, users);
      else this.claims.delete(claim);
    }
    this.generation++;
  }
}
