// /metrics/cadvisor: the resource use of containers under cAdvisor's names, as far as the runtime reports it.
import { MetricRegistry } from "#base/metrics.ts";
import type { ContainerRuntime } from "../runtime.ts";
import type { ServedPod } from "./server.ts";

const labels = ["container", "id", "image", "name", "namespace", "pod"];

export async function cadvisorMetrics(
  pods: Iterable<ServedPod>,
  runtime: Pick<ContainerRuntime, "usage">,
  now: number,
  signal: AbortSignal,
): Promise<string> {
  const running = [...pods].flatMap(({ pod, state }) =>
    state.containers.filter(({ phase }) => phase === "running").map((container) => ({ pod, container })),
  );
  const usage = await runtime.usage(
    running.map(({ container }) => container.id),
    signal,
  );
  const registry = new MetricRegistry();
  const cpu = registry.counter({
    name: "container_cpu_usage_seconds_total",
    help: "Cumulative cpu time consumed in seconds.",
    labels: [...labels, "cpu"],
  });
  const gauge = (name: string, help: string) => registry.gauge({ name: `container_${name}`, help, labels });
  const memory = gauge("memory_working_set_bytes", "Current working set in bytes.");
  const started = gauge("start_time_seconds", "Start time of the container since unix epoch in seconds.");
  const lastSeen = gauge("last_seen", "Last time a container was seen by the exporter");
  for (const { pod, container } of running) {
    const used = usage.get(container.id);
    if (!used) continue;
    const { name, namespace = "", uid = "" } = pod.metadata;
    const cgroup = `/kubepods/pod${uid}/${container.id}`;
    const values = [container.name, cgroup, container.image, container.id, namespace, name];
    cpu.of(...values, "total").add(used.cpuSeconds);
    memory.of(...values).set(used.memoryBytes);
    started.of(...values).set(container.startedAt / 1000);
    lastSeen.of(...values).set(Math.floor(now / 1000));
  }
  return registry.text();
}
