import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "#api/coordination/v1/lease.ts";
import { Event } from "#api/core/v1/event.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client, type Transport } from "#client/client.ts";
import { type SimulatedNodes, type SimulatedNodesOptions, simulatedNodes } from "#kubelet/simulated/nodes.ts";
import type { Draft } from "#schema/infer.ts";
import { type TestCluster, testCluster } from "../controllers/cluster.ts";

interface World extends TestCluster {
  readonly nodes: SimulatedNodes;
  /** Writes of pods: `update status web`. */
  readonly writes: string[];
  create(name: string, spec?: Draft<Pod["spec"]>, annotations?: Readonly<Record<string, string>>): Promise<Pod>;
  pod(name: string): Promise<Pod | undefined>;
  /** Lets things happen until the pod is as asked. */
  untilPod(name: string, isDone: (pod: Pod | undefined) => boolean): Promise<void>;
}

async function world(options: Partial<SimulatedNodesOptions> = {}): Promise<World> {
  let nodes: SimulatedNodes | undefined;
  const writes: string[] = [];
  const cluster = await testCluster({
    controllers: [],
    components: ({ client, informers, server }) => {
      const transport: Transport = (request) => {
        if (request.resource === "pods" && !["get", "list", "watch"].includes(request.verb))
          writes.push([request.verb, request.subresource, request.name].filter(Boolean).join(" "));
        return server.server.request(request);
      };
      nodes = simulatedNodes({
        count: 2,
        clientFor: (node) =>
          new Client({
            transport,
            user: { name: `system:node:${node}`, groups: ["system:nodes"] },
            userAgent: "kubelet/1",
            signal: new AbortController().signal,
          }),
        client,
        informers,
        clock: server.clock,
        random: seededRandom(3),
        log: silentLog,
        ...options,
      });
      return [nodes];
    },
  });
  const find = (name: string) => cluster.client.find(Pod, { namespace: "default", name });
  const { until, client, server } = cluster;
  if (!nodes) throw new Error("no nodes were made");
  const made = nodes;
  await until(async () => made.registered === made.names.length);
  return {
    server,
    client,
    until,
    nodes: made,
    writes,
    create: (name, spec, annotations) =>
      client.create(Pod, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, namespace: "default", annotations },
        spec: { nodeName: "sim-0", containers: [{ name: "web", image: "nginx" }], ...spec },
      }),
    pod: find,
    untilPod: (name, isDone) => until(async () => isDone(await find(name))),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

const condition = (pod: Pod | undefined, type: string) =>
  pod?.status.conditions?.find((one) => one.type === type)?.status;
const isReady = (pod: Pod | undefined) => condition(pod, "Ready") === "True";

test("simulated nodes register, ready to run pods, and keep their leases", async () => {
  await using w = await world();
  const node = await w.client.get(Node, { name: "sim-1" });
  assert.equal(node.status.conditions?.find(({ type }) => type === "Ready")?.status, "True");
  assert.equal(node.metadata.labels?.["kubernetes.io/hostname"], "sim-1");
  assert.equal(node.spec.podCIDR, "10.244.1.0/24");
  assert.equal(node.status.allocatable?.pods, "110");
  const lease = { namespace: "kube-node-lease", name: "sim-1" };
  const before = await w.client.get(Lease, lease);
  assert.equal(before.spec.holderIdentity, "sim-1");
  assert.equal(before.metadata.ownerReferences?.[0]?.uid, node.metadata.uid);
  await w.server.clock.advance(11_000);
  const after = await w.client.get(Lease, lease);
  assert.notEqual(after.spec.renewTime, before.spec.renewTime);
});

test("a pod without delays runs and is ready after one write", async () => {
  await using w = await world();
  await w.create("web");
  await w.untilPod("web", isReady);
  const pod = await w.pod("web");
  assert.equal(pod?.status.phase, "Running");
  assert.equal(pod?.status.podIP, "10.244.0.2");
  assert.equal(pod?.status.hostIP, "172.24.0.1");
  const [status] = pod?.status.containerStatuses ?? [];
  assert.equal(status?.ready, true);
  assert.match(status?.containerID ?? "", /^simulated:\/\//);
  assert.deepEqual(w.writes, ["update status web"]);
  const events = await w.client.list(Event, { namespace: "default" });
  const reasons = events.items
    .filter(({ involvedObject }) => involvedObject.name === "web")
    .map(({ reason }) => reason);
  assert.deepEqual(reasons.toSorted(), ["Created", "Pulled", "Pulling", "Started"]);
});

test("a pod that is deleted ends within its grace and is removed", async () => {
  await using w = await world();
  await w.create("web", {}, { "simulated.knarr.dev/stop-delay": "3s" });
  await w.untilPod("web", isReady);
  await w.client.delete(Pod, { namespace: "default", name: "web" });
  await w.server.clock.advance(1000);
  assert.equal((await w.pod("web"))?.status.phase, "Running");
  await w.untilPod("web", (pod) => pod === undefined);
  assert.deepEqual(await w.nodes.runtime.pods(), []);
  assert.equal(w.nodes.pods.size, 0);
  // It runs; it ends (its generation has changed); it has ended.
  assert.deepEqual(w.writes, ["update status web", "update status web", "update status web", "delete web"]);
});
