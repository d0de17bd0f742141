// Upstream: pkg/scheduler/framework/plugins/nodeports/node_ports.go.
import { type Refusal, schedulerPlugin } from "../framework.ts";
import { type HostPort, portsClash } from "../host-ports.ts";

const taken: Refusal = { reason: "node(s) didn't have free ports for the requested pod ports", stuck: false };

/** Two pods on a node cannot have the same port of it. */
export const nodePorts = schedulerPlugin({
  name: "NodePorts",
  wakes: [
    {
      kind: "Pod",
      on: ["delete"],
      cures: (pod, { old }) => old !== undefined && hasPlace(old.pod) && portsClash(pod.ports, old.ports),
    },
    { kind: "Node", on: ["add"] },
  ],

  preFilter: ({ ports }) => (ports.length > 0 ? { state: ports } : undefined),
  filter: (_pod, node, wanted: readonly HostPort[]) =>
    wanted.every((port) => node.ports.isFree(port)) ? undefined : taken,
});

const hasPlace = ({
  spec,
  status,
}: {
  spec: { nodeName?: string | undefined };
  status: { nominatedNodeName?: string | undefined };
}) => Boolean(spec.nodeName || status.nominatedNodeName);
