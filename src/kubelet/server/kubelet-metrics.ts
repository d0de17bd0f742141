import type { MetricRegistry } from "#base/metrics.ts";
import type { ServedPod } from "./server.ts";

/** What runs on a node, counted when it is asked for. */
export function countPods(metrics: MetricRegistry, node: string, list: () => Iterable<ServedPod>): void {
  const stability = "ALPHA";
  metrics
    .gauge({ name: "kubelet_node_name", help: "The node's name. The count is always 1.", labels: ["node"], stability })
    .of(node)
    .set(1);
  const help = {
    pods: "Number of pods that have a running pod sandbox",
    containers: "Number of containers currently running",
  };
  const pods = metrics.gauge({ name: "kubelet_running_pods", help: help.pods, stability });
  const labels = ["container_state"];
  const containers = metrics.gauge({ name: "kubelet_running_containers", help: help.containers, labels, stability });
  metrics.reading(() => {
    containers.clear();
    let running = 0;
    for (const { state } of list()) {
      if (state.sandboxes.some(({ isReady }) => isReady)) running++;
      for (const { phase } of state.containers) containers.of(phase).add(1);
    }
    pods.of().set(running);
  });
}
