// What pods use, as metrics-server asks for it at /metrics/resource.
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
  const node = { cpuSeconds: 0, memoryBytes: 0 };
  for (const { pod, containers } of running) {
    const podLabels = { namespace: pod.metadata.namespace ?? "", pod: pod.metadata.name };
    const total = { cpuSeconds: 0, memoryBytes: 0 };
    for (const { id, name, startedAt } of containers) {
      const used = usage.get(id);
      if (!used) continue;
      const labels = { container: name, ...podLabels };
      add(containerCpu, labels, used.cpuSeconds);
      add(containerMemory, labels, used.memoryBytes);
      add(starts, labels, startedAt / 1000);
      total.cpuSeconds += used.cpuSeconds;
      total.memoryBytes += used.memoryBytes;
    }
    if (containers.length === 0) continue;
    add(podCpu, podLabels, total.cpuSeconds);
    add(podMemory, podLabels, total.memoryBytes);
    node.cpuSeconds += total.cpuSeconds;
    node.memoryBytes += total.memoryBytes;
  }
  add(nodeCpu, {}, node.cpuSeconds);
  add(nodeMemory, {}, node.memoryBytes);
  const errors = sample(
    "resource_scrape_error",
    "1 if there was an error while getting container metrics, 0 otherwise",
    "gauge",
  );
  add(errors, {}, 0);
  return [containerCpu, containerMemory, starts, nodeCpu, nodeMemory, podCpu, podMemory, errors].map(textOf).join("");
}

const sample = (name: string, help: string, type: Sample["type"]): Sample => ({ name, help, type, lines: [] });

function add(to: Sample | undefined, labels: Readonly<Record<string, string>>, value: number): void {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}=${JSON.stringify(text)}`);
  to?.lines.push(`${to.name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}\n`);
}

const textOf = (one: Sample | undefined): string =>
  one && one.lines.length > 0
    ? `# HELP ${one.name} [STABLE] ${one.help}\n# TYPE ${one.name} ${one.type}\n${one.lines.join("")}`
    : "";
