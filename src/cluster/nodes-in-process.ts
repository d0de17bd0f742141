import type { NodeConnection } from "#apiserver/node-connection.ts";
import { NodeUnreachable } from "#kubelet/node-unreachable.ts";
import { Unreachable } from "#serving/proxy/outgoing.ts";
import type { ClusterNodes } from "./cluster.ts";

/** Connections to kubelets of this process go straight to them, all others over the network. */
export const throughProcess = (nodes: () => ClusterNodes, other: NodeConnection): NodeConnection => ({
  ...other,
  async kubelet(endpoint, request) {
    if (!nodes().names.includes(endpoint.node)) return other.kubelet(endpoint, request);
    try {
      return await nodes().handle(endpoint.node, request);
    } catch (cause) {
      if (cause instanceof NodeUnreachable) throw new Unreachable(cause.message, { cause });
      throw cause;
    }
  },
});
