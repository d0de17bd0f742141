// Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go.
import { isExtended } from "#api/core/v1/amounts.ts";
import type { Node } from "#api/core/v1/node.ts";
import { DeviceClass } from "#api/resource/v1/device-class.ts";
import type { CacheView } from "#client/controller.ts";
import { type PluginContext, type Refusal, schedulerPlugin, type Wake } from "../framework.ts";
import type { NodeState } from "../node-state.ts";
import type { PodView } from "../pod-view.ts";
import { amount, type PodRequest, type ResourceVector, resourcesOf } from "../resources.ts";
import type { Snapshot } from "../snapshot.ts";
import { isNewlyByClass, resourcesByClass } from "./extended-devices.ts";
import {
  capacityOf,
  cpuAndMemory,
  type ResourceWeight,
  type ScoredResource,
  scoredResources,
  takenOf,
} from "./scored-resource.ts";

export interface ScoringStrategy {
  readonly type: "LeastAllocated" | "MostAllocated" | "RequestedToCapacityRatio";
  readonly resources?: readonly ResourceWeight[] | undefined;
  readonly requestedToCapacityRatio?: { readonly shape?: readonly ShapePoint[] | undefined } | undefined;
}

/** How good it is, from 0 to 10, when so many percent are used. */
export interface ShapePoint {
  readonly utilization: number;
  readonly score: number;
}

export interface NodeResourcesFitArgs {
  /** Resources of devices that someone else looks after. */
  readonly ignoredResources?: readonly string[] | undefined;
  /** The same by the part of the name before the slash. */
  readonly ignoredResourceGroups?: readonly string[] | undefined;
  readonly scoringStrategy?: ScoringStrategy;
}

interface ResourceDemand {
  readonly request: PodRequest;
  readonly others: readonly (readonly [string, number])[];
  /** Those that device classes stand behind: nodes that have none by device plugins may have devices. */
  readonly byClass: ReadonlyMap<string, string>;
  /** Whether only the number of pods matters. */
  readonly isNothing: boolean;
  /** Refusals made so far, by what is lacking: nodes that lack the same share one. */
  readonly refusals: Map<number, Refusal>;
}

/** Whether a node has room for the pod, and which of those that do have the most left, or the least. */
export function nodeResourcesFit(args: NodeResourcesFitArgs, { cache }: Pick<PluginContext, "cache">) {
  const scoringStrategy: ScoringStrategy = args.scoringStrategy ?? { type: "LeastAllocated" };
  const ignored = new Set(args.ignoredResources);
  const ignoredGroups = new Set(args.ignoredResourceGroups);
  const isIgnored = (name: string) =>
    isExtended(name) && (ignored.has(name) || ignoredGroups.has(name.split("/")[0] ?? ""));
  const resources = scoringStrategy.resources ?? cpuAndMemory;
  const rate = raterOf(scoringStrategy);

  return schedulerPlugin({
    name: "NodeResourcesFit",
    reads: [DeviceClass],
    wakes: wakesBy(cache),

    preFilter(pod) {
      const { request } = pod;
      const others = [...request.others].filter(([name, asked]) => asked > 0 && !isIgnored(name));
      const isNothing = request.cpu === 0 && request.memory === 0 && request.storage === 0 && others.length === 0;
      const byClass = resourcesByClass(pod, cache);
      return { state: { request, others, byClass, isNothing, refusals: new Map() } };
    },
    filter(_pod, node, wanted: ResourceDemand) {
      const { request, others, byClass, isNothing } = wanted;
      if (node.podsLeft <= 0) return refuse(node, wanted);
      if (isNothing) return undefined;
      if (request.cpu > 0 && request.cpu > node.cpuLeft) return refuse(node, wanted);
      if (request.memory > 0 && request.memory > node.memoryLeft) return refuse(node, wanted);
      if (request.storage > 0 && request.storage > node.storageLeft) return refuse(node, wanted);
      for (const [name, asked] of others) {
        const has = node.allocatable.others.get(name) ?? 0;
        if (lacks(asked, has, node.others.get(name) ?? 0) && !(has === 0 && byClass.has(name)))
          return refuse(node, wanted);
      }
      return undefined;
    },

    preScore: (pod) => ({ state: scoredResources(pod, resources, true) }),
    score(_pod, node, scored: readonly ScoredResource[]) {
      let score = 0;
      let weights = 0;
      for (const { name, weight, asked } of scored) {
        const capacity = capacityOf(node, name);
        if (capacity === 0) continue;
        const rating = rate.one(takenOf(node, name, true) + asked, capacity);
        if (rating === 0 && rate.skipsZero) continue;
        score += rating * weight;
        weights += weight;
      }
      return weights === 0 ? 0 : rate.round(score / weights);
    },
  });
}

/** What may make room for a pod: other pods that go, nodes, and classes that stand behind a resource of it. */
const wakesBy = (cache: CacheView): readonly Wake[] => [
  {
    kind: "Pod",
    on: ["delete", "scaleDown"],
    cures: (pod, change, snapshot) => fitsWhereRoomWasMade(pod, change, snapshot, resourcesByClass(pod, cache)),
  },
  {
    kind: "Node",
    on: ["add", "allocatable"],
    cures(pod, { old, now }) {
      const byClass = resourcesByClass(pod, cache);
      return now !== undefined && fitsEmpty(pod, now, byClass) && (!old || hasMore(pod, old, now, byClass));
    },
  },
  { kind: "DeviceClass", on: ["add", "update"], cures: isNewlyByClass },
];

const lacks = (asked: number, has: number, taken: number): boolean => asked > 0 && asked > has - taken;

const tooManyPods = 1;
const lackOf = ["cpu", "memory", "ephemeral-storage"];
/** Of more resources than fit beside these into 32 bits only the first are named. */
const mostOthers = 24;

/** All that is missing. If the pod asks for more than the whole node has, taking pods away does not help. */
function refuse(node: NodeState, wanted: ResourceDemand): Refusal {
  const { request, others, byClass, isNothing, refusals } = wanted;
  const { allocatable } = node;
  let missing = node.podsLeft <= 0 ? tooManyPods : 0;
  let stuck = false;
  if (!isNothing) {
    if (request.cpu > 0 && request.cpu > node.cpuLeft) {
      missing |= 2;
      stuck ||= request.cpu > allocatable.cpu;
    }
    if (request.memory > 0 && request.memory > node.memoryLeft) {
      missing |= 4;
      stuck ||= request.memory > allocatable.memory;
    }
    if (request.storage > 0 && request.storage > node.storageLeft) {
      missing |= 8;
      stuck ||= request.storage > allocatable.storage;
    }
    for (let i = 0; i < others.length; i++) {
      const [name, asked] = others[i] as readonly [string, number];
      const has = allocatable.others.get(name) ?? 0;
      if (!lacks(asked, has, node.others.get(name) ?? 0) || (has === 0 && byClass.has(name))) continue;
      missing |= 16 << Math.min(i, mostOthers);
      stuck ||= asked > has;
    }
  }
  const id = stuck ? -missing : missing;
  let refusal = refusals.get(id);
  if (!refusal) {
    refusal = refusalOf(missing, stuck, wanted);
    refusals.set(id, refusal);
  }
  return refusal;
}

function refusalOf(missing: number, stuck: boolean, { others }: ResourceDemand): Refusal {
  const names = [...lackOf, ...others.map(([name]) => name)].filter((_, i) => missing & (2 << i));
  const [reason = "", ...also] = [
    ...(missing & tooManyPods ? ["Too many pods"] : []),
    ...names.map((name) => `Insufficient ${name}`),
  ];
  return { reason, also, stuck };
}

interface Rater {
  one(requested: number, capacity: number): number;
  readonly round: (score: number) => number;
  /** Whether a resource that scores nothing does not count at all. */
  readonly skipsZero: boolean;
}

function raterOf(strategy: ScoringStrategy): Rater {
  switch (strategy.type) {
    case "LeastAllocated":
      return {
        one: (requested, capacity) =>
          requested > capacity ? 0 : Math.trunc(((capacity - requested) * 100) / capacity),
        round: Math.trunc,
        skipsZero: false,
      };
    case "MostAllocated":
      return {
        one: (requested, capacity) => Math.trunc((Math.min(requested, capacity) * 100) / capacity),
        round: Math.trunc,
        skipsZero: false,
      };
    case "RequestedToCapacityRatio": {
      const { shape = [] } = strategy.requestedToCapacityRatio ?? {};
      return {
        one: (requested, capacity) =>
          onShape(shape, requested > capacity ? 100 : Math.trunc((requested * 100) / capacity)),
        round: Math.round,
        skipsZero: true,
      };
    }
  }
}

/** The score at a utilization, on straight lines between the points. */
function onShape(shape: readonly ShapePoint[], utilization: number): number {
  const next = shape.findIndex((point) => utilization <= point.utilization);
  const [a, b] = [shape[next - 1], shape[next]];
  if (!b) return 10 * (shape.at(-1)?.score ?? 0);
  if (!a) return 10 * b.score;
  const rise = 10 * (b.score - a.score) * (utilization - a.utilization);
  return 10 * a.score + Math.trunc(rise / (b.utilization - a.utilization));
}

/** Upstream tries again whenever any pod goes. The snapshot already knows what is free on that node, so that can be asked. */
function fitsWhereRoomWasMade(
  pod: PodView,
  { old, now }: { readonly old: PodView | undefined; readonly now: PodView | undefined },
  snapshot: Snapshot,
  byClass: ReadonlyMap<string, string>,
): boolean {
  if (now?.uid === pod.uid) return true;
  const { spec, status } = (now ?? old)?.pod ?? {};
  const name = spec?.nodeName || status?.nominatedNodeName;
  const node = name ? snapshot.node(name) : undefined;
  return node !== undefined && isRoom(pod, byClass, { has: node.allocatable, allowedPods: node.allowedPods }, node);
}

const fitsEmpty = (pod: PodView, { status }: Node, byClass: ReadonlyMap<string, string>): boolean =>
  isRoom(pod, byClass, {
    has: resourcesOf(status.allocatable),
    allowedPods: amount("pods", status.allocatable?.pods ?? "0"),
  });

interface ResourceUsage {
  readonly pods: { readonly size: number };
  readonly cpu: number;
  readonly memory: number;
  readonly storage: number;
  readonly others: ReadonlyMap<string, number>;
}
const untouched: ResourceUsage = { pods: { size: 0 }, cpu: 0, memory: 0, storage: 0, others: new Map() };

function isRoom(
  { request }: PodView,
  byClass: ReadonlyMap<string, string>,
  { has, allowedPods }: { readonly has: ResourceVector; readonly allowedPods: number },
  taken: ResourceUsage = untouched,
): boolean {
  if (taken.pods.size >= allowedPods) return false;
  if (lacks(request.cpu, has.cpu, taken.cpu) || lacks(request.memory, has.memory, taken.memory)) return false;
  if (lacks(request.storage, has.storage, taken.storage)) return false;
  for (const [name, asked] of request.others) {
    const amount = has.others.get(name) ?? 0;
    if (lacks(asked, amount, taken.others.get(name) ?? 0) && !(amount === 0 && byClass.has(name))) return false;
  }
  return true;
}

/** Whether the node has more than before of anything the pod asks for. */
function hasMore({ request }: PodView, old: Node, now: Node, byClass: ReadonlyMap<string, string>): boolean {
  if (amount("pods", now.status.allocatable?.pods ?? "0") > amount("pods", old.status.allocatable?.pods ?? "0"))
    return true;
  const [had, has] = [resourcesOf(old.status.allocatable), resourcesOf(now.status.allocatable)];
  if (request.cpu > 0 && has.cpu > had.cpu) return true;
  if (request.memory > 0 && has.memory > had.memory) return true;
  if (request.storage > 0 && has.storage > had.storage) return true;
  for (const [name, asked] of request.others)
    if (
      asked > 0 &&
      ((has.others.get(name) ?? 0) > (had.others.get(name) ?? 0) || (byClass.has(name) && !has.others.get(name)))
    )
      return true;
  return false;
}
