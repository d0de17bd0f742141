// Upstream: plugin/pkg/admission/nodetaint/admission.go.
import { Node } from "#api/core/v1/node.ts";
import { admissionPlugin } from "./plugin.ts";

const notReady = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" } as const;

/** A node that has just registered takes no pods until it has been seen to be ready. */
export const taintNodesByCondition = admissionPlugin({
  name: "TaintNodesByCondition",
  on: { kind: Node, verbs: ["create"] },
  mutate({ object: { spec } }) {
    const taints = spec.taints ?? [];
    if (!taints.some(({ key, effect }) => key === notReady.key && effect === notReady.effect))
      spec.taints = [...taints, { ...notReady }];
  },
});
