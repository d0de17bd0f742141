// How many replicas a metric asks for. Pure: from metrics, pods and the target to a number. Throws Error, in upstream's words, where no
// number can be told.
// Upstream: pkg/controller/podautoscaler/replica_calculator.go.
import type { Pod } from "#api/core/v1/pod.ts";
import { isReady } from "#rules/conditions.ts";
import {
  groupPods,
  type InitializationTimes,
  type MetricsByPod,
  type PodGroups,
  type PodsAndMetrics,
  requestsOf,
} from "./pod-groups.ts";

export interface Tolerances {
  readonly up: number;
  readonly down: number;
}

export interface ReplicaCount {
  readonly replicas: number;
  /** The average over the pods, or the whole, in thousandths. */
  readonly usage: bigint;
  /** The average share of the requests, in percent. */
  readonly utilization?: number;
}

export interface PodAverages extends PodsAndMetrics {
  readonly current: number;
  readonly tolerances: Tolerances;
  readonly times: InitializationTimes;
  readonly now: number;
}

const most = 2 ** 31 - 1;
const rounded = (replicas: number): number => Math.min(most, Math.ceil(replicas));

const isWithin = ({ up, down }: Tolerances, ratio: number): boolean => 1 - down <= ratio && ratio <= 1 + up;

/** So that pods use a certain share of what they ask for. */
export function byUtilization(input: PodAverages & { readonly container: string }, target: number): ReplicaCount {
  const { pods, resource, container } = input;
  const groups = meaningful(input);
  const counted = countedMetrics(input.metrics, groups);
  const requests = requestsOf(pods, resource, container);
  const measure = (metrics: MetricsByPod) => utilizationOf(metrics, requests, target);
  const { ratio, utilization, usage } = measure(counted);
  // A pod without a metric counts as if it used all that it asked for, or the target where that is more.
  const whole = BigInt(Math.max(100, target));
  const replicas = adjusted(input, groups, {
    ratio,
    counted,
    assumed: (name) => ((requests.get(name) ?? 0n) * whole) / 100n,
    ratioOf: (metrics) => measure(metrics).ratio,
  });
  return { replicas, usage, utilization };
}

/** So that a metric has a certain value on average over the pods. */
export function byAverage(input: PodAverages, target: bigint): ReplicaCount {
  const groups = meaningful(input);
  const counted = countedMetrics(input.metrics, groups);
  const { ratio, usage } = averageOf(counted, target);
  const replicas = adjusted(input, groups, {
    ratio,
    counted,
    assumed: () => target,
    ratioOf: (metrics) => averageOf(metrics, target).ratio,
  });
  return { replicas, usage };
}

/** So that a metric of something else has a certain value: more pods are expected to lower it. */
export function byValue(
  { current, pods, tolerances }: Pick<PodAverages, "current" | "pods" | "tolerances">,
  usage: bigint,
  target: bigint,
): ReplicaCount {
  const ratio = Number(usage) / Number(target);
  if (current === 0) return { replicas: rounded(ratio), usage };
  if (isWithin(tolerances, ratio)) return { replicas: current, usage };
  if (pods.length === 0)
    throw new Error("unable to calculate ready pods: no pods returned by selector while calculating replica count");
  return { replicas: rounded(ratio * pods.filter(runsAndIsReady).length), usage };
}

const runsAndIsReady = (pod: Pod): boolean => pod.status.phase === "Running" && isReady(pod);

/** So that each pod has a certain share of a metric of something else. */
export function byShare(present: number, tolerances: Tolerances, usage: bigint, target: bigint): ReplicaCount {
  const [whole, share] = [Number(usage), Number(target)];
  const replicas = isWithin(tolerances, whole / (share * present)) ? present : rounded(whole / share);
  const average = whole / present;
  return { replicas, usage: Number.isFinite(average) ? BigInt(Math.ceil(average)) : usage };
}

function meaningful(input: PodAverages): PodGroups {
  if (input.pods.length === 0) throw new Error("no pods returned by selector while calculating replica count");
  return groupPods(input, input.times, input.now);
}

function countedMetrics(metrics: MetricsByPod, { ignored, unready }: PodGroups): MetricsByPod {
  const counted = new Map([...metrics].filter(([name]) => !ignored.has(name) && !unready.has(name)));
  if (counted.size === 0) throw new Error("did not receive metrics for targeted pods (pods might be unready)");
  return counted;
}

interface Measurement {
  readonly ratio: number;
  readonly counted: MetricsByPod;
  /** What a pod without a metric is taken to use when the others use too little. */
  assumed(name: string): bigint;
  ratioOf(metrics: MetricsByPod): number;
}

/**
 * The number of replicas, carefully: pods of which nothing is known are taken to use much when there could be fewer pods, and nothing when
 * there should be more; and if that turns the direction around, nothing happens.
 */
function adjusted(
  { current, tolerances }: PodAverages,
  { readyCount, unready, missing }: PodGroups,
  { ratio, counted, assumed, ratioOf }: Measurement,
): number {
  const doesRiseWithUnready = unready.size > 0 && ratio > 1;
  if (!doesRiseWithUnready && missing.size === 0)
    return isWithin(tolerances, ratio) ? current : rounded(ratio * readyCount);
  const filled = new Map(counted);
  const fill = (name: string, value: bigint) => filled.set(name, { at: 0, windowMs: 0, value });
  if (ratio !== 1) for (const name of missing) fill(name, ratio < 1 ? assumed(name) : 0n);
  if (doesRiseWithUnready) for (const name of unready) fill(name, 0n);
  const careful = ratioOf(filled);
  const hasTurned = (ratio < 1 && careful > 1) || (ratio > 1 && careful < 1);
  if (isWithin(tolerances, careful) || hasTurned) return current;
  const replicas = rounded(careful * filled.size);
  const isAgainst = (careful < 1 && replicas > current) || (careful > 1 && replicas < current);
  return isAgainst ? current : replicas;
}

function utilizationOf(metrics: MetricsByPod, requests: ReadonlyMap<string, bigint>, target: number) {
  let used = 0n;
  let requested = 0n;
  let count = 0n;
  for (const [name, { value }] of metrics) {
    const request = requests.get(name);
    if (request === undefined) continue; // of a pod that was not there when pods were looked at
    used += value;
    requested += request;
    count++;
  }
  if (requested === 0n) throw new Error("no metrics returned matched known pods");
  const utilization = Number((used * 100n) / requested);
  return { ratio: utilization / target, utilization, usage: used / count };
}

function averageOf(metrics: MetricsByPod, target: bigint) {
  const total = [...metrics.values()].reduce((sum, { value }) => sum + value, 0n);
  const usage = total / BigInt(metrics.size);
  return { ratio: Number(usage) / Number(target), usage };
}
