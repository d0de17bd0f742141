// Sets an annotation of nodes: how long kubelets may cache secrets and config maps. The more nodes there are, the longer, so that they do
// not overload the API server.
// Upstream: pkg/controller/ttl/ttl_controller.go.
import { Node } from "#api/core/v1/node.ts";
import { index } from "#client/cache.ts";
import { controller } from "#client/controller.ts";

const annotation = "node.alpha.kubernetes.io/ttl";

/** The sizes overlap (hysteresis), so that a cluster that grows and shrinks by a few nodes does not switch back and forth. */
const steps = [
  { fewest: 0, most: 100, seconds: 0 },
  { fewest: 90, most: 500, seconds: 15 },
  { fewest: 450, most: 1000, seconds: 30 },
  { fewest: 900, most: 2000, seconds: 60 },
  { fewest: 1800, most: Number.POSITIVE_INFINITY, seconds: 300 },
] as const;

const allNodes = index(Node, () => ["all"]);

export function ttlController() {
  /** Where the cluster is among the steps; it moves one at a time, as its size does. */
  let at = 0;
  const secondsFor = (nodes: number): number => {
    while (nodes > (steps[at]?.most ?? 0)) at++;
    while (nodes < (steps[at]?.fewest ?? 0)) at--;
    return steps[at]?.seconds ?? 0;
  };
  return controller({
    name: "ttl",
    queue: "ttlcontroller",
    for: Node,

    async reconcile({ metadata: { name, annotations } }, { client, cache }) {
      const seconds = String(secondsFor(cache.count(allNodes, "all")));
      if (annotations?.[annotation] === seconds) return;
      await client.patch(Node, { name }, "strategic", { metadata: { annotations: { [annotation]: seconds } } });
    },
  });
}
