// Upstream: pkg/quota/v1/evaluator/core/services.go.
import type { Service } from "#api/core/v1/service.ts";
import { quantityOf } from "#schema/quantity.ts";
import { type Evaluator, one } from "./evaluator.ts";

const names = new Set(["count/services", "services", "services.nodeports", "services.loadbalancers"]);

/** A service counts for itself, for its node ports, and for a load balancer if it wants one. */
export const serviceEvaluator: Evaluator = {
  counts: (name) => names.has(name),
  usage(object) {
    const { type, ports = [], allocateLoadBalancerNodePorts } = (object as unknown as Service).spec;
    const isBalanced = type === "LoadBalancer";
    const nodePorts =
      isBalanced && allocateLoadBalancerNodePorts === false
        ? ports.filter(({ nodePort }) => nodePort).length
        : isBalanced || type === "NodePort"
          ? ports.length
          : 0;
    return new Map([
      ["count/services", one],
      ["services", one],
      ["services.loadbalancers", quantityOf(isBalanced ? 1 : 0)],
      ["services.nodeports", quantityOf(nodePorts)],
    ]);
  },
  minds: ({ subresource }) => subresource === "",
};
