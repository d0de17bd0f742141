import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/v1/event.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { type Kubelet, type KubeletOptions, kubelet } from "#kubelet/kubelet.ts";
import type { ProbeOutcome } from "#kubelet/probes/run-probe.ts";
import { SimulatedRuntime } from "#kubelet/runtime/simulated.ts";
import { simulatedStreams } from "#kubelet/simulated/streams.ts";
import type { Draft } from "#schema/infer.ts";
import { type TestCluster, testCluster } from "../controllers/cluster.ts";

interface World extends TestCluster {
  readonly kubelet: Kubelet;
  readonly runtime: SimulatedRuntime;
  /** What probes answer. */
  health: ProbeOutcome["result"];
  create(name: string, spec?: Draft<Pod["spec"]>): Promise<Pod>;
  pod(name: string): Promise<Pod | undefined>;
  untilPod(name: string, isDone: (pod: Pod | undefined) => boolean): Promise<void>;
}

async function world(rest: Pick<KubeletOptions, "maxConcurrentStarts"> = {}): Promise<World> {
  let made: Pick<World, "kubelet" | "runtime"> | undefined;
  const state: { health: ProbeOutcome["result"] } = { health: "success" };
  const cluster = await testCluster({
    controllers: [],
    components: ({ server }) => {
      const { clock } = server;
      const runtime = new SimulatedRuntime({ clock, allocate: () => ["10.244.0.9"], release: () => undefined });
      const answer = async () => ({ result: state.health, output: "as told" });
      const user = { name: "system:node:n1", groups: ["system:nodes"] };
      const { signal } = new AbortController();
      const one = kubelet({
        description: {
          name: "n1",
          capacity: { cpu: "2", memory: "4Gi", pods: "10" },
          addresses: [{ type: "InternalIP", address: "192.0.2.7" }],
          system: { ...system, kubeletVersion: "v1.36.4" },
          port: 10250,
        },
        client: new Client({ transport: server.server.request, user, userAgent: "kubelet/1", signal }),
        runtime,
        probes: { http: answer, tcp: answer, grpc: answer },
        streams: simulatedStreams(runtime, () => undefined),
        spdyCompression: () => assert.fail("nobody speaks SPDY here"),
        clock,
        random: seededRandom(5),
        log: silentLog,
        ...rest,
      });
      made = { kubelet: one, runtime };
      return [one];
    },
  });
  const { client, until, server } = cluster;
  if (!made) throw new Error("no kubelet was made");
  const { kubelet: one, runtime } = made;
  await until(async () => one.isRegistered);
  const find = (name: string) => client.find(Pod, { namespace: "default", name });
  return {
    server,
    client,
    until,
    kubelet: one,
    runtime,
    get health() {
      return state.health;
    },
    set health(health) {
      state.health = health;
    },
    create: (name, spec) =>
      client.create(Pod, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, namespace: "default" },
        spec: { nodeName: "n1", containers: [{ name: "web", image: "nginx" }], ...spec },
      }),
    pod: find,
    untilPod: (name, isDone) => until(async () => isDone(await find(name))),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

const system = {
  machineID: "",
  systemUUID: "",
  bootID: "",
  kernelVersion: "",
  osImage: "",
  containerRuntimeVersion: "simulated://1.0",
  kubeProxyVersion: "",
  operatingSystem: "linux",
  architecture: "amd64",
  swap: undefined,
};

const condition = (pod: Pod | undefined, type: string) =>
  pod?.status.conditions?.find((one) => one.type === type)?.status;
const isReady = (pod: Pod | undefined) => condition(pod, "Ready") === "True";

test("a kubelet registers its node and runs the pods bound to it, and no others", async () => {
  await using w = await world();
  await w.create("mine");
  await w.create("other", { nodeName: "n2" });
  await w.untilPod("mine", isReady);
  assert.equal((await w.pod("mine"))?.status.podIP, "10.244.0.9");
  assert.equal((await w.pod("other"))?.status.phase, "Pending");
  const node = await w.client.get(Node, { name: "n1" });
  assert.equal(node.status.capacity?.memory, "4Gi");
});

test("a kubelet tells when its node is cordoned and uncordoned", async () => {
  await using w = await world();
  const told = async () => {
    const { items } = await w.client.list(Event);
    return items.filter(({ reason }) => reason?.includes("Schedulable")).map(({ message }) => message);
  };
  const cordon = (unschedulable: boolean) => w.client.patch(Node, { name: "n1" }, "merge", { spec: { unschedulable } });
  await cordon(true);
  await w.until(async () => (await told()).includes("Node n1 status is now: NodeNotSchedulable"));
  assert.equal((await told()).length, 1);
  await cordon(false);
  await w.until(async () => (await told()).includes("Node n1 status is now: NodeSchedulable"));
});

test("a kubelet tells at once that its node is not ready, and how it is every five minutes", async () => {
  await using w = await world();
  const ready = async () =>
    (await w.client.get(Node, { name: "n1" })).status.conditions?.find(({ type }) => type === "Ready");
  w.kubelet.setHealth({ notReady: "container runtime is down" });
  await w.until(async () => (await ready())?.status === "False");
  const { reason, message, lastHeartbeatTime } = (await ready()) ?? {};
  assert.deepEqual([reason, message], ["KubeletNotReady", "container runtime is down"]);
  await w.server.clock.advance(301_000);
  await w.until(async () => (await ready())?.lastHeartbeatTime !== lastHeartbeatTime);
});

test("probes decide what is ready and what is restarted", async () => {
  await using w = await world();
  const probe = { tcpSocket: { port: 80 }, periodSeconds: 1 };
  w.health = "failure";
  await w.create("web", { containers: [{ name: "web", image: "nginx", readinessProbe: probe }] });
  await w.untilPod("web", (pod) => pod?.status.phase === "Running");
  await w.server.clock.advance(3000);
  assert.equal(isReady(await w.pod("web")), false);
  w.health = "success";
  await w.untilPod("web", isReady);
  await w.create("live", { containers: [{ name: "web", image: "nginx", livenessProbe: probe }] });
  await w.untilPod("live", isReady);
  w.health = "failure";
  await w.untilPod("live", (pod) => pod?.status.containerStatuses?.[0]?.restartCount === 1);
  const { items } = await w.client.list(Event, { namespace: "default" });
  assert.ok(
    items.some(({ reason, message }) => reason === "Unhealthy" && message === "Liveness probe failed: as told"),
  );
});

test("hooks run after the start and before the end", async () => {
  await using w = await world();
  const lifecycle = { postStart: { sleep: { seconds: 5 } }, preStop: { sleep: { seconds: 4 } } };
  await w.create("web", { containers: [{ name: "web", image: "nginx", lifecycle }] });
  await w.server.clock.advance(3000);
  assert.equal((await w.pod("web"))?.status.containerStatuses?.[0]?.state.waiting?.reason, "ContainerCreating");
  await w.server.clock.advance(3000);
  await w.untilPod("web", isReady);
  const { metadata } = await w.client.get(Pod, { namespace: "default", name: "web" });
  await w.client.delete(Pod, { namespace: "default", name: "web" });
  await w.server.clock.advance(3000);
  assert.equal((await w.runtime.observe(metadata.uid ?? "")).containers[0]?.phase, "running");
  await w.untilPod("web", (pod) => pod === undefined);
});

test("a hook that fails has its container killed", async () => {
  await using w = await world();
  const lifecycle = { postStart: { exec: { command: ["false"] } } };
  await w.create("web", { containers: [{ name: "web", image: "nginx", lifecycle }], restartPolicy: "Never" });
  await w.untilPod("web", (pod) => pod?.status.phase === "Succeeded" || pod?.status.phase === "Failed");
  const { items } = await w.client.list(Event, { namespace: "default" });
  assert.ok(items.some(({ reason }) => reason === "FailedPostStartHook"));
});

test("a pod that is put out of the node fails with the reason", async () => {
  await using w = await world();
  const { metadata } = await w.create("web");
  await w.untilPod("web", isReady);
  w.kubelet.evict(metadata.uid ?? "", {
    reason: "Evicted",
    message: "The node was low on resource: memory. ",
    graceSeconds: 0,
  });
  await w.untilPod("web", (pod) => pod?.status.phase === "Failed");
  const evicted = await w.pod("web");
  assert.equal(evicted?.status.reason, "Evicted");
  assert.equal(condition(evicted, "DisruptionTarget"), "True");
});

test("a kubelet makes few pods at once, and none that was deleted meanwhile", async () => {
  await using w = await world({ maxConcurrentStarts: 1 });
  const asked: (string | undefined)[] = [];
  const gate = Promise.withResolvers<void>();
  const make = w.runtime.runSandbox.bind(w.runtime);
  w.runtime.runSandbox = async (config) => {
    asked.push(config.pod.metadata.name);
    await gate.promise;
    return make(config);
  };
  await w.create("a");
  await w.until(async () => asked.length === 1);
  await w.create("b");
  await w.create("c");
  await w.client.delete(Pod, { namespace: "default", name: "b" });
  await w.untilPod("c", (pod) => pod?.status.startTime !== undefined);
  assert.deepEqual(asked, ["a"]);
  gate.resolve();
  await w.untilPod("c", isReady);
  await w.untilPod("b", (pod) => pod === undefined);
  assert.deepEqual(asked, ["a", "c"]);
});

test("a name that no image can have is not asked for", async () => {
  await using w = await world();
  await w.create("web", { containers: [{ name: "web", image: "My Image" }] });
  await w.untilPod("web", (pod) => pod?.status.containerStatuses?.[0]?.state.waiting?.reason === "InvalidImageName");
  const { items } = await w.client.list(Event, { namespace: "default" });
  assert.ok(items.some(({ reason }) => reason === "InspectFailed"));
  assert.ok(!items.some(({ reason }) => reason === "Pulling"));
});

test("containers that run are given other resources, in place or by a restart, if there is room", async () => {
  await using w = await world();
  const resources = { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } };
  const resizePolicy = [{ resourceName: "memory", restartPolicy: "RestartContainer" as const }];
  await w.create("web", { containers: [{ name: "web", image: "nginx", resources, resizePolicy }] });
  await w.untilPod("web", isReady);
  const told = async () => (await w.pod("web"))?.status.containerStatuses?.[0];
  const id = (await told())?.containerID;
  const resize = (change: object) => {
    const spec = { containers: [{ name: "web", resources: change }] };
    return w.client.patch(Pod, { namespace: "default", name: "web" }, "strategic", { spec }, { subresource: "resize" });
  };
  const reasons = async () =>
    (await w.client.list(Event, { namespace: "default" })).items
      .map(({ reason }) => reason ?? "")
      .filter((reason) => reason.startsWith("Resize"));

  await resize({ requests: { cpu: "200m", memory: "64Mi" } });
  await w.until(async () => (await told())?.resources?.requests?.cpu === "200m");
  assert.deepEqual([(await told())?.containerID, (await told())?.restartCount], [id, 0]);
  await w.until(async () => (await reasons()).includes("ResizeCompleted"));

  await resize({ requests: { cpu: "9", memory: "64Mi" } });
  await w.until(async () => condition(await w.pod("web"), "PodResizePending") === "True");
  const pending = (await w.pod("web"))?.status.conditions?.find(({ type }) => type === "PodResizePending");
  assert.equal(pending?.reason, "Infeasible");
  assert.match(pending?.message ?? "", /cpu, requested: 9000, .*capacity: 2000/);
  assert.deepEqual(
    [(await told())?.resources?.requests?.cpu, (await told())?.allocatedResources?.cpu],
    ["200m", "200m"],
    "what it has, not what it wants",
  );

  await resize({ requests: { cpu: "300m", memory: "64Mi" }, limits: { memory: "256Mi" } });
  await w.until(async () => (await told())?.restartCount === 1);
  await w.untilPod("web", isReady);
  assert.equal((await told())?.resources?.limits?.memory, "256Mi");
  assert.equal(condition(await w.pod("web"), "PodResizePending"), undefined);
  assert.equal(condition(await w.pod("web"), "PodResizeInProgress"), undefined);
  assert.deepEqual(new Set(await reasons()), new Set(["ResizeStarted", "ResizeCompleted", "ResizeInfeasible"]));
});
