// What pods use, as metrics-server asks for it at /metrics/resource.
// Upstream: pkg/kubelet/metrics/collectors/resource_metrics.go.
import type { Clock } from "#base/clock.ts";
import type { ContainerRuntime } from "../runtime.ts";
import type { ServedPod } from "./server.ts";

interface Sample {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly lines: string[];
}

/** The node's own use is that of its pods together. */
export async function resourceMetrics(
  pods: Iterable<ServedPod>,
  runtime: Pick<ContainerRuntime, "usage">,
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  const running = [...pods].map(({ pod, state }) => ({
    pod,
    containers: state.containers.filter(({ phase }) => phase === "running"),
  }));
  const usage = await runtime.usage(
    running.flatMap(({ containers }) => containers.map(({ id }) => id)),
    signal,
  );
  const now = Math.round(clock.now());
  const [containerCpu, podCpu, nodeCpu] = ["container", "pod", "node"].map((what) =>
    sample(`${what}_cpu_usage_seconds_total`, `Cumulative cpu time consumed by the ${what} in core-seconds`, "counter"),
  );
  const [containerMemory, podMemory, nodeMemory] = ["container", "pod", "node"].map((what) =>
    sample(`${what}_memory_working_set_bytes`, `Current working set of the ${what} in bytes`, "gauge"),
  );
  const starts = sample(
    "container_start_time_seconds",
    "Start time of the container since unix epoch in seconds",
    "gauge",
  );
  const node = { cpuSeconds: 0, memoryBytes: 0, at: now };
  for (const { pod, containers } of running) {
    const podLabels = { namespace: pod.metadata.namespace ?? "", pod: pod.metadata.name };
    const total = { cpuSeconds: 0, memoryBytes: 0, at: now };
    for (const { id, name, startedAt } of containers) {
      const used = usage.get(id);
      if (!used) continue;
      const labels = { container: name, ...podLabels };
      const at = used.at ?? now;
      add(containerCpu, labels, used.cpuSeconds, at);
      add(containerMemory, labels, used.memoryBytes, at);
      add(starts, labels, startedAt / 1000);
      total.cpuSeconds += used.cpuSeconds;
      total.memoryBytes += used.memoryBytes;
      total.at = at;
    }
    if (containers.length === 0) continue;
    add(podCpu, podLabels, total.cpuSeconds, total.at);
    add(podMemory, podLabels, total.memoryBytes, total.at);
    node.cpuSeconds += total.cpuSeconds;
    node.memoryBytes += total.memoryBytes;
    node.at = total.at;
  }
  add(nodeCpu, {}, node.cpuSeconds, node.at);
  add(nodeMemory, {}, node.memoryBytes, node.at);
  const errors = sample(
    "resource_scrape_error",
    "1 if there was an error while getting container metrics, 0 otherwise",
    "gauge",
  );
  add(errors, {}, 0);
  return [containerCpu, containerMemory, starts, nodeCpu, nodeMemory, podCpu, podMemory, errors].map(textOf).join("");
}

const sample = (name: string, help: string, type: Sample["type"]): Sample => ({ name, help, type, lines: [] });

/** `at` is when it was measured, in milliseconds: upstream tells it of what changes, and not of the rest. */
function add(to: Sample | undefined, labels: Readonly<Record<string, string>>, value: number, at?: number): void {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}=${JSON.stringify(text)}`);
  to?.lines.push(
    `${to.name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}${at === undefined ? "" : ` ${at}`}\n`,
  );
}

const textOf = (one: Sample | undefined): string =>
  one && one.lines.length > 0
    ? `# HELP ${one.name} [STABLE] ${one.help}\n# TYPE ${one.name} ${one.type}\n${one.lines.join("")}`
    : "";
