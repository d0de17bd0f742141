// Amounts of resources as plain numbers: milli-CPUs, bytes, and counts of whatever else nodes offer.
import { type Amounts, isExtended, isHugePages } from "#api/core/v1/amounts.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { podAmounts } from "#rules/pod-amounts.ts";
import { parseQuantity, quantityMilliValue, quantityValue } from "#schema/quantity.ts";

export interface ResourceVector {
  readonly cpu: number;
  readonly memory: number;
  readonly storage: number;
  /** Huge pages, devices, and what else has a name of its own. */
  readonly others: ReadonlyMap<string, number>;
}

/** The requests that count in scores: containers without requests count with small defaults. */
export interface PodRequest extends ResourceVector {
  readonly likelyCpu: number;
  readonly likelyMemory: number;
}

const noOthers: ReadonlyMap<string, number> = new Map();
const likely = { cpu: "100m", memory: String(200 * 1024 * 1024) };

/** Scalar resources: all but those that have fields of their own. */
export const isScalar = (name: string): boolean =>
  isExtended(name) || isHugePages(name) || name.includes("kubernetes.io/") || name.startsWith("attachable-volumes-");

export const amount = (name: string, text: string): number =>
  Number((name === "cpu" ? quantityMilliValue : quantityValue)(parseQuantity(text)));

export function podRequest(pod: Pod): PodRequest {
  const asked = numbers(podAmounts(pod, "requests"));
  const isSaid = pod.spec.containers.every(({ resources: { requests } }) => requests?.cpu && requests.memory);
  if (isSaid && (pod.spec.initContainers ?? []).length === 0)
    return { ...asked, likelyCpu: asked.cpu, likelyMemory: asked.memory };
  const filled = podAmounts(pod, "requests", likely);
  return {
    ...asked,
    likelyCpu: amount("cpu", filled.get("cpu") ?? "0"),
    likelyMemory: amount("memory", filled.get("memory") ?? "0"),
  };
}

export const resourcesOf = (amounts: Amounts | undefined): ResourceVector => numbers(Object.entries(amounts ?? {}));

function numbers(amounts: Iterable<readonly [string, string]>): ResourceVector {
  let [cpu, memory, storage] = [0, 0, 0];
  let others: Map<string, number> | undefined;
  for (const [name, text] of amounts) {
    if (name === "cpu") cpu = amount(name, text);
    else if (name === "memory") memory = amount(name, text);
    else if (name === "ephemeral-storage") storage = amount(name, text);
    else if (isScalar(name)) {
      others ??= new Map();
      others.set(name, amount(name, text));
    }
  }
  return { cpu, memory, storage, others: others ?? noOthers };
}

/** The amount of a resource by its name. */
export function amountOf(resources: ResourceVector, name: string): number {
  if (name === "cpu") return resources.cpu;
  if (name === "memory") return resources.memory;
  if (name === "ephemeral-storage") return resources.storage;
  return resources.others.get(name) ?? 0;
}

export function isSameRequest(a: PodRequest, b: PodRequest): boolean {
  if (a.cpu !== b.cpu || a.memory !== b.memory || a.storage !== b.storage) return false;
  if (a.likelyCpu !== b.likelyCpu || a.likelyMemory !== b.likelyMemory || a.others.size !== b.others.size) return false;
  for (const [name, value] of a.others) if (b.others.get(name) !== value) return false;
  return true;
}
