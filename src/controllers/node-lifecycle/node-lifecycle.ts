// Watches over nodes: sets the conditions of silent nodes to Unknown, and taints nodes by their conditions. NoSchedule taints keep pods away;
// NoExecute taints, which are added to few nodes at a time, make the taint eviction controller delete the pods.
// Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go.

import { Lease } from "#api/coordination/v1/lease.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { equal, inBatches, min } from "#base/collections.ts";
import { isNotFound } from "#base/errors.ts";
import { type CacheView, type Controller, controller, type Reconcile, watching } from "#client/controller.ts";
import { conditionIn, isReady } from "#rules/conditions.ts";
import { timeOf } from "#schema/time.ts";
import { podsOnNode } from "../pods.ts";
import { unknownConditions } from "./conditions.ts";
import { type Grace, Health, readyCondition } from "./health.ts";
import { type Eviction, hasTaint, missingLabels, notReady, unreachable, wantedTaints } from "./taints.ts";
import { type EvictionRates, Zones } from "./zones.ts";

export interface NodeLifecycleSettings extends Grace, EvictionRates {}

const usual: NodeLifecycleSettings = {
  monitorMs: 50_000,
  startupMs: 60_000,
  perSecond: 0.1,
  reducedPerSecond: 0.01,
  largeZone: 50,
  tooMany: 0.55,
};

const leaseNamespace = "kube-node-lease";
/** How often an unhealthy node is reconciled: its eviction depends on the state of other nodes. */
const recheckMs = 5000;
const podsAtOnce = 20;

export function nodeLifecycleController(given: Partial<NodeLifecycleSettings> = {}): Controller<typeof Node> {
  const settings = { ...usual, ...given };
  const health = new Health();
  const zones = new Zones(settings);
  const uids = new Map<string, string>();
  return controller({
    name: "node-lifecycle",
    queue: "node_lifecycle_controller",
    reportsAs: "node-controller",
    for: Node,
    watches: [
      watching(
        Lease,
        ({ metadata: { namespace, name = "" } }) => (namespace === leaseNamespace ? [{ name }] : []),
        (old, lease) => old.spec.renewTime !== lease.spec.renewTime,
      ),
      watching(
        Pod,
        ({ spec }, cache) => (isSilent(spec.nodeName, cache) ? [{ name: spec.nodeName }] : []),
        (old, pod) => old.spec.nodeName !== pod.spec.nodeName,
      ),
    ],
    workers: 8,

    async reconcile(seen, context) {
      const { cache, clock, event } = context;
      const { name = "", uid = "" } = seen.metadata;
      if (uids.size === 0) for (const one of cache.list(Node)) zones.note(one);
      if (!health.isKnown(name))
        event("Normal", "RegisteredNode", `Node ${name} event: Registered Node ${name} in Controller`);
      uids.set(name, uid);
      const lease = cache.get(Lease, { namespace: leaseNamespace, name });
      const leftMs = health.look(seen, lease, settings, clock);
      const node = leftMs < 0 ? await declareUnknown(seen, context) : seen;
      zones.note(node);
      if (zones.settle(clock.elapsed()) === "some work again") health.restart(clock);

      const againMs = await taint(node, zones, context);
      if (readyCondition(node)?.status === "Unknown") await markPodsNotReady(node, context);
      const afterMs = min([...(leftMs >= 0 ? [leftMs + 1] : []), ...(againMs === undefined ? [] : [againMs])]);
      return afterMs === undefined ? undefined : { afterMs };
    },

    async gone({ name }, { event, clock }) {
      if (health.isKnown(name)) {
        const about = { apiVersion: "v1", kind: "Node", metadata: { name, uid: uids.get(name) } };
        event("Normal", "RemovingNode", `Node ${name} event: Removing Node ${name} from Controller`, about);
      }
      uids.delete(name);
      health.forget(name);
      zones.forget(name);
      if (zones.settle(clock.elapsed()) === "some work again") health.restart(clock);
    },
  });
}

/** A node with unknown readiness: only then are its pods looked at. */
function isSilent(name: string | undefined, cache: CacheView): name is string {
  const node = name === undefined ? undefined : cache.get(Node, { name });
  return node !== undefined && readyCondition(node)?.status === "Unknown";
}

async function declareUnknown(node: Node, { client, clock, event }: Reconcile): Promise<Node> {
  const conditions = unknownConditions(node, clock.now());
  const before = readyCondition(node);
  if (equal(conditionIn(conditions, "Ready"), before)) return node;
  const updated = await client.update(Node, { ...node, status: { ...node.status, conditions } }, "status");
  const { name } = node.metadata;
  if (before?.status === "True") event("Normal", "NodeNotReady", `Node ${name} status is now: NodeNotReady`);
  return updated;
}

/** Gives the node the taints and labels it should have; when to look again, if that depends on others. */
async function taint(node: Node, zones: Zones, { client, clock }: Reconcile): Promise<number | undefined> {
  const { name = "", resourceVersion } = node.metadata;
  const { eviction, againMs } = evictionOf(node, zones, clock.elapsed());
  const taints = wantedTaints(node, eviction, clock.now());
  const labels = missingLabels(node);
  const hasLabels = Object.keys(labels).length === 0;
  if (taints === undefined && hasLabels) return againMs;
  const patch = { metadata: { resourceVersion, ...(!hasLabels && { labels }) }, ...(taints && { spec: { taints } }) };
  await client.patch(Node, { name }, "strategic", patch);
  return againMs;
}

/** Which of the two taints that drive pods out the node gets or loses: they exclude each other, as what they stand for does. */
function evictionOf(node: Node, zones: Zones, now: number): { readonly eviction: Eviction; readonly againMs?: number } {
  const status = readyCondition(node)?.status;
  if (status === undefined) return { eviction: { remove: [] } };
  if (status === "True") {
    zones.recovered(node.metadata.name ?? "");
    return { eviction: { remove: [notReady, unreachable] } };
  }
  if (zones.haveAllFailed) return { eviction: { remove: [notReady, unreachable] }, againMs: recheckMs };
  const [own, other] = status === "False" ? [notReady, unreachable] : [unreachable, notReady];
  if (hasTaint(node, own, "NoExecute")) return { eviction: { remove: [other] }, againMs: recheckMs };
  if (hasTaint(node, other, "NoExecute")) return { eviction: { add: own, remove: [other] }, againMs: recheckMs };
  const turnMs = zones.turnMs(node, now);
  if (turnMs !== 0) return { eviction: { remove: [] }, againMs: Math.min(turnMs ?? recheckMs, recheckMs) };
  zones.taken(node, now);
  return { eviction: { add: own, remove: [] }, againMs: recheckMs };
}

/** Marks the pods of a silent node as not ready: its kubelet cannot. */
async function markPodsNotReady(node: Node, { client, cache, clock, event }: Reconcile): Promise<void> {
  const ready = cache.by(podsOnNode, node.metadata.name ?? "").filter(isReady);
  await inBatches(podsAtOnce, ready, async (pod) => {
    const { namespace, name = "", uid } = pod.metadata;
    const conditions = [{ type: "Ready", status: "False", lastTransitionTime: timeOf(clock.now()) }];
    const patch = { metadata: { uid }, status: { conditions } };
    try {
      await client.patch(Pod, { namespace, name }, "strategic", patch, { subresource: "status" });
    } catch (error) {
      if (isNotFound(error)) return;
      throw error;
    }
    event("Warning", "NodeNotReady", "Node is not ready", pod);
  });
}
