// /metrics/cadvisor: what containers, pods and the node use, under cAdvisor's names. Where the kubelet has a summary, all of it is told here;
// otherwise what the runtime reports.
// Upstream: pkg/kubelet/cadvisor/cadvisor_linux.go.
import type { Pod } from "#api/core/v1/pod.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { parseQuantity, quantityMilliValue, quantityToNumber } from "#schema/quantity.ts";
import type { ContainerRuntime, ContainerState } from "../runtime.ts";
import type { CpuStats, FsStats, MemoryStats, NetworkStats, Summary } from "../stats/summary.ts";
import type { ServedPod } from "./server.ts";

/** A control group as cAdvisor tells of it: the node, a pod, or a container. */
interface MeasuredGroup {
  /** In the order of `labels`. */
  readonly values: readonly string[];
  readonly cpu?: Pick<CpuStats, "usageCoreNanoSeconds"> | undefined;
  readonly memory?: Partial<MemoryStats> | undefined;
  readonly disks?: readonly (FsStats | undefined)[];
  readonly network?: NetworkStats | undefined;
}

const labels = ["container", "id", "image", "name", "namespace", "pod"];

export async function cadvisorMetrics(
  pods: Iterable<ServedPod>,
  runtime: Pick<ContainerRuntime, "usage">,
  now: number,
  signal: AbortSignal,
  summary?: Summary,
): Promise<string> {
  const served = [...pods];
  const running = served.flatMap(({ pod, state }) =>
    state.containers.filter(({ phase }) => phase === "running").map((container) => ({ pod, container })),
  );
  const groups = summary ? groupsIn(summary, served) : await usedGroups(running, runtime, signal);
  const registry = new MetricRegistry();
  tellUse(registry, groups);
  tellDisksAndNetwork(registry, groups);
  tellSpecs(registry, running, now);
  return registry.text();
}

const groupOf = ({ metadata }: Pod): string => `/kubepods/pod${metadata.uid ?? ""}`;

const containerValues = (pod: Pod, { id, name, image }: ContainerState): readonly string[] => [
  name,
  `${groupOf(pod)}/${id}`,
  image,
  id,
  pod.metadata.namespace ?? "",
  pod.metadata.name,
];

function groupsIn({ node, pods }: Summary, served: readonly ServedPod[]): readonly MeasuredGroup[] {
  const byUid = new Map(served.map((one) => [one.pod.metadata.uid, one]));
  const root: MeasuredGroup = {
    values: ["", "/", "", "", "", ""],
    cpu: node.cpu,
    memory: node.memory,
    disks: [node.fs],
    network: node.network,
  };
  const inner = pods.flatMap(({ podRef, cpu, memory, network, containers }): readonly MeasuredGroup[] => {
    const { pod, state } = byUid.get(podRef.uid) ?? {};
    if (!pod || !state) return []; // it has gone meanwhile
    const whole: MeasuredGroup = {
      values: ["", groupOf(pod), "", "", podRef.namespace, podRef.name],
      cpu,
      memory,
      network,
    };
    const parts = containers.flatMap(({ name, cpu, memory, rootfs, logs }): readonly MeasuredGroup[] => {
      const container = state.containers.find((one) => one.phase === "running" && one.name === name);
      return container ? [{ values: containerValues(pod, container), cpu, memory, disks: [rootfs, logs] }] : [];
    });
    return [whole, ...parts];
  });
  return [root, ...inner];
}

interface RunningContainer {
  readonly pod: Pod;
  readonly container: ContainerState;
}

async function usedGroups(
  running: readonly RunningContainer[],
  runtime: Pick<ContainerRuntime, "usage">,
  signal: AbortSignal,
): Promise<readonly MeasuredGroup[]> {
  const usage = await runtime.usage(
    running.map(({ container }) => container.id),
    signal,
  );
  return running.flatMap(({ pod, container }): readonly MeasuredGroup[] => {
    const used = usage.get(container.id);
    if (!used) return [];
    const cpu = { usageCoreNanoSeconds: used.cpuSeconds * 1e9 };
    return [{ values: containerValues(pod, container), cpu, memory: { workingSetBytes: used.memoryBytes } }];
  });
}

function tellUse(registry: MetricRegistry, groups: readonly MeasuredGroup[]): void {
  const gauge = (name: string, help: string) => registry.gauge({ name: `container_${name}`, help, labels });
  const counter = (name: string, help: string, ...more: readonly string[]) =>
    registry.counter({ name: `container_${name}`, help, labels: [...labels, ...more] });
  const cpuTime = counter("cpu_usage_seconds_total", "Processor time used, in seconds.", "cpu");
  const working = gauge("memory_working_set_bytes", "Memory that is not easily given back, in bytes.");
  const whole = gauge("memory_usage_bytes", "Memory used, with what could be given back, in bytes.");
  const resident = gauge("memory_rss", "Memory of processes themselves, in bytes.");
  const faults = counter("memory_failures_total", "Page faults.", "failure_type", "scope");
  for (const { values, cpu, memory } of groups) {
    if (cpu) cpuTime.of(...values, "total").add(cpu.usageCoreNanoSeconds / 1e9);
    const { workingSetBytes, usageBytes, rssBytes, pageFaults, majorPageFaults } = memory ?? {};
    if (workingSetBytes !== undefined) working.of(...values).set(workingSetBytes);
    if (usageBytes !== undefined) whole.of(...values).set(usageBytes);
    if (rssBytes !== undefined) resident.of(...values).set(rssBytes);
    if (pageFaults !== undefined) faults.of(...values, "pgfault", "hierarchy").add(pageFaults);
    if (majorPageFaults !== undefined) faults.of(...values, "pgmajfault", "hierarchy").add(majorPageFaults);
  }
}

function tellDisksAndNetwork(registry: MetricRegistry, groups: readonly MeasuredGroup[]): void {
  const disk = (name: string, help: string) =>
    registry.gauge({ name: `container_fs_${name}_bytes`, help, labels: [...labels, "device"] });
  const [used, limit] = [disk("usage", "Bytes written to disk."), disk("limit", "Bytes of the disk.")];
  const traffic = (name: string, help: string) =>
    registry.counter({ name: `container_network_${name}_total`, help, labels: [...labels, "interface"] });
  const received = traffic("receive_bytes", "Bytes received.");
  const receiveErrors = traffic("receive_errors", "Errors while receiving.");
  const sent = traffic("transmit_bytes", "Bytes sent.");
  const sendErrors = traffic("transmit_errors", "Errors while sending.");
  for (const { values, disks = [], network } of groups) {
    const present = disks.filter((one) => one !== undefined);
    const [first] = present;
    if (first) {
      used.of(...values, "").set(present.reduce((sum, { usedBytes }) => sum + usedBytes, 0));
      limit.of(...values, "").set(first.capacityBytes);
    }
    for (const one of network?.interfaces ?? []) {
      received.of(...values, one.name).add(one.rxBytes);
      receiveErrors.of(...values, one.name).add(one.rxErrors);
      sent.of(...values, one.name).add(one.txBytes);
      sendErrors.of(...values, one.name).add(one.txErrors);
    }
  }
}

const periodMicros = 100_000;

/** When containers began, and what they were given. */
function tellSpecs(registry: MetricRegistry, running: readonly RunningContainer[], now: number): void {
  const gauge = (name: string, help: string) => registry.gauge({ name: `container_${name}`, help, labels });
  const started = gauge("start_time_seconds", "When it began, in seconds since 1970.");
  const lastSeen = gauge("last_seen", "When it was last measured, in seconds since 1970.");
  const period = gauge("spec_cpu_period", "The period that the quota is for, in microseconds.");
  const quota = gauge("spec_cpu_quota", "Processor time that it may use in a period, in microseconds.");
  const shares = gauge("spec_cpu_shares", "Its weight among others, where 1024 is a processor.");
  const memory = gauge("spec_memory_limit_bytes", "Memory that it may use, in bytes; 0 for no limit.");
  for (const { pod, container } of running) {
    const values = containerValues(pod, container);
    started.of(...values).set(container.startedAt / 1000);
    lastSeen.of(...values).set(Math.floor(now / 1000));
    const { spec } = pod;
    const own = [...spec.containers, ...(spec.initContainers ?? [])].find(({ name }) => name === container.name);
    const { requests = {}, limits = {} } = own?.resources ?? {};
    const milli = (amount: string | undefined) =>
      amount === undefined ? 0 : Number(quantityMilliValue(parseQuantity(amount)));
    period.of(...values).set(periodMicros);
    if (limits.cpu !== undefined) quota.of(...values).set((milli(limits.cpu) * periodMicros) / 1000);
    shares.of(...values).set(Math.max(2, Math.floor((milli(requests.cpu ?? limits.cpu) * 1024) / 1000)));
    memory.of(...values).set(limits.memory === undefined ? 0 : quantityToNumber(parseQuantity(limits.memory)));
  }
}
