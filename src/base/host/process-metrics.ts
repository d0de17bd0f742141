// What the process takes of its machine, under the names that every Prometheus client uses.
import { readdirSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import type { MetricRegistry } from "../metrics.ts";

const pageBytes = 4096;

/** Read each time numbers are asked for. Where the system does not tell, the name is missing. */
export function declareProcessMetrics(registry: MetricRegistry): void {
  const cpu = registry.counter({
    name: "process_cpu_seconds_total",
    help: "Processor time spent, of user and system.",
  });
  const gauge = (name: string, help: string) => registry.gauge({ name, help });
  const resident = gauge("process_resident_memory_bytes", "Memory that is held.");
  const virtual = gauge("process_virtual_memory_bytes", "Address space that is reserved.");
  const openFiles = gauge("process_open_fds", "Files that are open.");
  const mostFiles = gauge("process_max_fds", "Files that may be open.");
  const started = gauge("process_start_time_seconds", "When the process began, in seconds since 1970.");
  const heap = gauge("nodejs_heap_size_used_bytes", "Memory that objects occupy.");
  const heapTotal = gauge("nodejs_heap_size_total_bytes", "Memory that is set aside for objects.");
  const external = gauge("nodejs_external_memory_bytes", "Memory that objects hold outside the heap.");
  const busy = registry.counter({
    name: "nodejs_eventloop_busy_seconds_total",
    help: "Time in which the event loop had something to do.",
  });
  registry.reading(() => {
    const { user, system } = process.cpuUsage();
    cpu.of().value = (user + system) / 1e6;
    busy.of().value = performance.eventLoopUtilization().active / 1000;
    started.of().set(Math.round(performance.timeOrigin) / 1000);
    const memory = process.memoryUsage();
    resident.of().set(memory.rss);
    heap.of().set(memory.heapUsed);
    heapTotal.of().set(memory.heapTotal);
    external.of().set(memory.external + memory.arrayBuffers);
    if (process.platform !== "linux") return;
    virtual.of().set(Number(readFileSync("/proc/self/statm", "utf8").split(" ")[0]) * pageBytes);
    openFiles.of().set(readdirSync("/proc/self/fd").length);
    const limit = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    if (limit !== undefined) mostFiles.of().set(Number(limit));
  });
}
