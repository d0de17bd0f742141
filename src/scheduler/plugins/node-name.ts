// Upstream: pkg/scheduler/framework/plugins/nodename/node_name.go.
import { type Refusal, schedulerPlugin } from "../framework.ts";

const another: Refusal = { reason: "node(s) didn't match the requested node name", stuck: true };

/** A pod that names its node runs there or nowhere. */
export const nodeName = schedulerPlugin({
  name: "NodeName",
  wakes: [{ kind: "Node", on: ["add"], cures: ({ pod }, { now }) => now?.metadata.name === pod.spec.nodeName }],

  preFilter: ({ pod }) => (pod.spec.nodeName ? { state: pod.spec.nodeName } : undefined),
  filter: (_pod, { name }, wanted: string) => (name === wanted ? undefined : another),
});
