// Upstream: pkg/scheduler/framework/plugins/nodedeclaredfeatures/nodedeclaredfeatures.go.
import type { Pod } from "#api/core/v1/pod.ts";
import { type Refusal, schedulerPlugin } from "../framework.ts";

const unable: Refusal = { reason: "node(s) didn't match Pod's required features", stuck: true };

/** Keeps pods off nodes whose kubelet does not know what they ask for. */
export const nodeDeclaredFeatures = schedulerPlugin({
  name: "NodeDeclaredFeatures",
  wakes: [{ kind: "Node", on: ["add", "features"] }],

  preFilter({ pod }) {
    const state = featuresOf(pod);
    return state.length > 0 ? { state } : undefined;
  },
  filter: (_pod, { node }, needed: readonly string[]) =>
    needed.every((feature) => node.status.declaredFeatures?.includes(feature)) ? undefined : unable,
});

/** What older kubelets do not know, by the names newer ones declare. */
function featuresOf({ spec }: Pod): readonly string[] {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  const restartsAll = containers.some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === "RestartAllContainers"),
  );
  return [
    ...(restartsAll ? ["RestartAllContainersOnContainerExits"] : []),
    ...(spec.hostNetwork && spec.hostUsers === false ? ["UserNamespacesHostNetworkSupport"] : []),
  ];
}
