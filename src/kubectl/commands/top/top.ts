// Upstream: kubectl/pkg/cmd/top.
import { command } from "../../command.ts";

export const top = command({
  use: "top [flags] [options]",
  long: "Show how much processor time and memory nodes and pods use. The server needs a metrics API (metrics-server).",
  examples: `# Nodes
kubectl top node

# Pods of a namespace, those that use most memory first
kubectl top pod -n shop --sort-by=memory`,
  subcommands: [
    {
      name: "node",
      aliases: ["nodes", "no"],
      short: "Show what nodes use",
      load: async () => (await import("./node.ts")).topNode,
    },
    {
      name: "pod",
      aliases: ["pods", "po"],
      short: "Show what pods use",
      load: async () => (await import("./pod.ts")).topPod,
    },
  ],
});
