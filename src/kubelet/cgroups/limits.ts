// Requests and limits in the kernel's units. The arithmetic is upstream's.
// Upstream: pkg/kubelet/cm/helpers_linux.go and pkg/kubelet/qos/policy.go.
import { type Amounts, isSidecar } from "#api/core/v1/amounts.ts";
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { qosClassOf } from "#api/core/v1/qos.ts";
import { podAmounts } from "#rules/pod-amounts.ts";
import { parseQuantity, quantityMilliValue, quantityValue } from "#schema/quantity.ts";

/** Microseconds over which a quota of processor time counts. */
export const cpuPeriod = 100_000;
const minShares = 2;
const maxShares = 262_144;
const minQuota = 1000;

export const millisOf = (amount: string | undefined): number =>
  amount === undefined ? 0 : Number(quantityMilliValue(parseQuantity(amount)));
export const bytesOf = (amount: string | undefined): number =>
  amount === undefined ? 0 : Number(quantityValue(parseQuantity(amount)));

export const sharesOf = (millis: number): number =>
  Math.min(maxShares, Math.max(minShares, Math.floor((millis * 1024) / 1000)));

/** 0 for no limit. */
export const quotaOf = (millis: number): number =>
  millis === 0 ? 0 : Math.max(minQuota, Math.floor((millis * cpuPeriod) / 1000));

/** Limits of huge pages by their size, as the kernel writes it: `2MB`, `1GB`. */
export function hugepageLimits(amounts: Iterable<readonly [string, string]>): readonly HugepageLimit[] {
  const limits: HugepageLimit[] = [];
  for (const [name, amount] of amounts)
    if (name.startsWith(hugepages)) {
      const size = bytesOf(name.slice(hugepages.length));
      const [unit, per] =
        size >= 2 ** 30
          ? (["GB", 2 ** 30] as const)
          : size >= 2 ** 20
            ? (["MB", 2 ** 20] as const)
            : (["KB", 2 ** 10] as const);
      limits.push({ pageSize: `${size / per}${unit}`, limit: bytesOf(amount) });
    }
  return limits;
}

const hugepages = "hugepages-";

export interface HugepageLimit {
  readonly pageSize: string;
  readonly limit: number;
}

/** What a control group allows; what is undefined is not limited. */
export interface GroupLimits {
  readonly cpuShares: number;
  readonly cpuQuota?: number;
  readonly memoryBytes?: number;
  readonly pids?: number;
  readonly hugepages?: readonly HugepageLimit[];
}

/** Limits of a pod's cgroup. A resource is limited if all containers limit it, or if the pod does as a whole. */
export function podLimits(pod: Pod, pids: number | undefined): GroupLimits {
  const { spec } = pod;
  const limits = podAmounts(pod, "limits");
  const requests = podAmounts(pod, "requests");
  const all = [...spec.containers, ...(spec.initContainers ?? [])];
  const isLimited = (name: "cpu" | "memory") =>
    (spec.resources?.limits?.[name] ?? all.every(({ resources }) => resources.limits?.[name])) && limits.has(name);
  const isBestEffort = qosClassOf(spec) === "BestEffort";
  return {
    cpuShares: isBestEffort ? minShares : sharesOf(millisOf(requests.get("cpu"))),
    ...(isLimited("cpu") && { cpuQuota: quotaOf(millisOf(limits.get("cpu"))) }),
    ...(isLimited("memory") && { memoryBytes: bytesOf(limits.get("memory")) }),
    ...(pids !== undefined && pids > 0 && { pids }),
    hugepages: hugepageLimits(requests),
  };
}

/** The container's oom_score_adj: the kernel kills best-effort containers first, and those that the node needs last. */
export function oomScore(pod: Pod, container: Container, memoryBytes: number): number {
  const { spec } = pod;
  const qos = qosClassOf(spec);
  if (qos === "Guaranteed" || (spec.priority ?? 0) >= systemNodeCritical) return guaranteedScore;
  if (qos === "BestEffort") return bestEffortScore;
  const shared = sharedRequest(pod);
  const score = (request: number) => 1000 - Math.floor((1000 * (request + shared)) / memoryBytes);
  const own = score(memoryRequest(container.resources));
  // A sidecar is not taken before the containers it serves.
  const found = isSidecar(container)
    ? Math.min(own, score(Math.min(...spec.containers.map(({ resources }) => memoryRequest(resources)))))
    : own;
  return Math.min(bestEffortScore - 1, Math.max(1000 + guaranteedScore, found));
}

const systemNodeCritical = 2_000_001_000;
const guaranteedScore = -997;
const bestEffortScore = 1000;

const memoryRequest = ({
  requests,
  limits,
}: {
  readonly requests?: Amounts | undefined;
  readonly limits?: Amounts | undefined;
}) => bytesOf(requests?.memory ?? limits?.memory);

/** What a pod asks for as a whole beyond its containers, for each of them. */
function sharedRequest({ spec }: Pod): number {
  const whole = spec.resources?.requests?.memory;
  if (whole === undefined) return 0;
  const all = [...spec.containers, ...(spec.initContainers ?? []).filter(isSidecar)];
  const asked = all.reduce((sum, { resources }) => sum + memoryRequest(resources), 0);
  return Math.max(0, Math.floor((bytesOf(whole) - asked) / all.length));
}
