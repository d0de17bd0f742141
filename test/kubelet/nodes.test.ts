import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "#api/coordination/v1/lease.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Event } from "#api/core/v1/event.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { ManualClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { supervise } from "#base/supervise.ts";
import { Client, type Transport } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { MemoryApi } from "#client/testing/memory-api.ts";
import { NodeAgent } from "#kubelet/node/node-agent.ts";
import { type SimulatedNodes, type SimulatedNodesOptions, simulatedNodes } from "#kubelet/simulated/nodes.ts";
import type { Draft } from "#schema/infer.ts";
import { type HttpResponse, isStream } from "#wire/http.ts";
import type { WriteRecord } from "#wire/write-record.ts";
import { type TestCluster, testCluster } from "../controllers/cluster.ts";
import { testDescription } from "./description.ts";

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
    components: ({ informers, server }) => {
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

test("nodes of a group renew their leases evenly over time, whenever they were registered", async () => {
  const clock = new ManualClock();
  const { request: transport } = new MemoryApi(clock);
  const { signal } = new AbortController();
  const client = new Client({ transport, user: { name: "system:node:n", groups: [] }, userAgent: "kubelet/1", signal });
  const renewals: number[] = [];
  for (const [registeredAt, phaseMs] of [
    [0, 0],
    [3_000, 2_500],
    [7_000, 5_000],
    [9_000, 7_500],
    [31_000, 0],
  ] as const) {
    await clock.advance(registeredAt - clock.elapsed());
    const description = { ...testDescription, name: `n-${registeredAt}` };
    const agent = new NodeAgent({ description, client, clock, random: seededRandom(1), renewMs: 10_000, phaseMs });
    renewals.push(clock.elapsed() + (await agent.sync(signal)));
  }
  assert.deepEqual(renewals, [10_000, 12_500, 15_000, 17_500, 40_000]);
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

async function writesTo(w: World, name: string): Promise<readonly WriteRecord[]> {
  const { json } = await w.server.call("GET", `/knarr/v1/trace?resource=pods&namespace=default&name=${name}`);
  return (json as unknown as { writes: readonly WriteRecord[] }).writes;
}

test("what a kubelet writes follows from the binding, or from what is asked since, with the steps that were taken", async () => {
  await using w = await world();
  const place = { namespace: "default", name: "web" };
  const readinessProbe = { tcpSocket: { port: 80 } };
  const { metadata } = await w.create(
    "web",
    { containers: [{ name: "web", image: "nginx:1", readinessProbe }] },
    { "simulated.knarr.dev/ready-after": "5s" },
  );
  await w.untilPod("web", (pod) => pod?.status.phase === "Running");
  const labelled = await w.client.patch(Pod, place, "merge", { metadata: { labels: { a: "b" } } });
  await w.untilPod("web", isReady);
  const deleted = await w.client.delete(Pod, place);
  await w.untilPod("web", (pod) => pod === undefined);
  const all = await writesTo(w, "web");
  const [bound, patched, ended] = [metadata, labelled.metadata, deleted?.metadata].map((one) => one?.resourceVersion);
  const told = all
    .filter(({ resource, user }) => resource === "pods" && user === "system:node:sim-0")
    .map(({ verb, because, steps = [] }) => [
      verb,
      because.map(({ revision }) => `${revision}`),
      steps.map(({ step, container }) => (container ? `${step} ${container}` : step)),
    ]);
  assert.notEqual(patched, bound);
  assert.deepEqual(told, [
    ["update", [bound], ["sandbox", "image-pulled web", "create web", "start web"]],
    ["update", [bound], ["ready"]],
    ["update", [bound, ended], ["end web"]],
    ["delete", [bound, ended], []],
  ]);
  const events = all.filter(({ resource }) => resource === "events");
  assert.ok(
    events.length >= 4 && events.every(({ because }) => because.length === 1),
    "events name what they are about",
  );
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

test("a pod of a job completes", async () => {
  await using w = await world();
  await w.create("job", { restartPolicy: "Never" });
  await w.untilPod("job", (pod) => pod?.status.phase === "Succeeded");
  const pod = await w.pod("job");
  const [status] = pod?.status.containerStatuses ?? [];
  assert.equal(status?.state.terminated?.reason, "Completed");
  assert.equal(status?.state.terminated?.exitCode, 0);
  assert.deepEqual(
    pod?.status.conditions?.map(({ type, status: is, reason }) => `${type}=${is} ${reason ?? ""}`.trim()),
    [
      "PodReadyToStartContainers=False",
      "Initialized=True PodCompleted",
      "Ready=False PodCompleted",
      "ContainersReady=False PodCompleted",
      "PodScheduled=True",
    ],
  );
  assert.equal(w.writes.length, 2);
});

test("a container that crashes is started again, ever later", async () => {
  await using w = await world();
  await w.create("web", {}, { "simulated.knarr.dev/run-for": "1s", "simulated.knarr.dev/exit-code": "3" });
  const waiting = (reason: string) => (pod: Pod | undefined) =>
    pod?.status.containerStatuses?.[0]?.state.waiting?.reason === reason;
  await w.untilPod("web", waiting("CrashLoopBackOff"));
  const pod = await w.pod("web");
  const [status] = pod?.status.containerStatuses ?? [];
  assert.equal(status?.restartCount, 1);
  assert.equal(status?.lastState.terminated?.exitCode, 3);
  assert.equal(status?.lastState.terminated?.reason, "Error");
  assert.equal(
    status?.state.waiting?.message,
    `back-off 10s restarting failed container=web pod=web_default(${pod?.metadata.uid})`,
  );
  assert.equal(pod?.status.phase, "Running");
  assert.equal(condition(pod, "Ready"), "False");
  const startedAt: number[] = [];
  for (let i = 0; i < 1000; i++) {
    const count = (await w.pod("web"))?.status.containerStatuses?.[0]?.restartCount ?? -1;
    startedAt[count] ??= i;
    await w.server.clock.advance(1000);
  }
  // A second of running, then a wait that doubles up to five minutes.
  const gaps = startedAt.slice(2).map((at, i) => at - (startedAt[i + 1] as number));
  assert.deepEqual(gaps.slice(1), [21, 41, 81, 161, 301, 301]);
  const events = await w.client.list(Event, { namespace: "default" });
  assert.ok(
    events.items.some(
      ({ reason, message }) =>
        reason === "BackOff" && message?.startsWith("Back-off restarting failed container web in pod web_default("),
    ),
  );
});

test("a pod that outlives its deadline fails", async () => {
  await using w = await world();
  await w.create("web", { activeDeadlineSeconds: 5 });
  await w.untilPod("web", isReady);
  await w.untilPod("web", (pod) => pod?.status.phase === "Failed");
  const pod = await w.pod("web");
  assert.equal(pod?.status.reason, "DeadlineExceeded");
  assert.equal(pod?.status.message, "Pod was active on the node longer than the specified deadline");
});

test("a pod for which the node has no room is refused", async () => {
  await using w = await world();
  const containers = [{ name: "web", image: "nginx", resources: { requests: { cpu: "20" } } }];
  await w.create("first", { containers });
  await w.untilPod("first", isReady);
  await w.create("second", { containers });
  await w.untilPod("second", (pod) => pod?.status.phase === "Failed");
  const pod = await w.pod("second");
  assert.equal(pod?.status.reason, "OutOfcpu");
  assert.equal(
    pod?.status.message,
    "Pod was rejected: Node didn't have enough resource: cpu, requested: 20000, used: 20000, capacity: 32000",
  );
  await w.client.delete(Pod, { namespace: "default", name: "second" });
  await w.untilPod("second", (gone) => gone === undefined);
});

test("an image that cannot be pulled is tried again, and says so", async () => {
  await using w = await world();
  await w.create(
    "web",
    {},
    { "simulated.knarr.dev/pull-error": "no such image", "simulated.knarr.dev/pull-failures": "1" },
  );
  const reasonOf = (pod: Pod | undefined) => pod?.status.containerStatuses?.[0]?.state.waiting?.reason;
  await w.untilPod("web", (pod) => reasonOf(pod) === "ErrImagePull");
  assert.equal((await w.pod("web"))?.status.phase, "Pending");
  await w.untilPod("web", (pod) => reasonOf(pod) === "ImagePullBackOff");
  assert.equal(
    (await w.pod("web"))?.status.containerStatuses?.[0]?.state.waiting?.message,
    'Back-off pulling image "nginx": ErrImagePull: no such image',
  );
  await w.untilPod("web", isReady);
  const { items } = await w.client.list(Event, { namespace: "default", fieldSelector: "involvedObject.name=web" });
  assert.deepEqual(
    items
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`)
      .filter((line) => /Failed|BackOff/.test(line)),
    [
      'Warning Failed: Failed to pull image "nginx": no such image',
      "Warning Failed: Error: ErrImagePull",
      'Normal BackOff: Back-off pulling image "nginx"',
      "Warning Failed: Error: ImagePullBackOff",
    ],
  );
});

test("init containers run first, sidecars stay and end last", async () => {
  await using w = await world();
  await w.create(
    "web",
    {
      initContainers: [
        { name: "setup", image: "setup" },
        { name: "proxy", image: "proxy", restartPolicy: "Always" },
        { name: "late", image: "late" },
      ],
    },
    { "setup.simulated.knarr.dev/run-for": "2s", "web.simulated.knarr.dev/stop-delay": "4s" },
  );
  await w.untilPod("web", (pod) => pod?.status.initContainerStatuses?.[0]?.state.running !== undefined);
  const early = await w.pod("web");
  assert.equal(early?.status.phase, "Pending");
  assert.equal(early?.status.containerStatuses?.[0]?.state.waiting?.reason, "PodInitializing");
  assert.equal(
    early?.status.conditions?.find(({ type }) => type === "Initialized")?.message,
    "containers with incomplete status: [setup proxy late]",
  );
  await w.untilPod("web", isReady);
  await w.client.delete(Pod, { namespace: "default", name: "web" });
  await w.server.clock.advance(3000);
  const state = await w.nodes.runtime.observe((await w.pod("web"))?.metadata.uid ?? "");
  assert.equal(state.containers.find(({ name }) => name === "proxy")?.phase, "running");
  await w.untilPod("web", (pod) => pod === undefined);
});

test("a container whose liveness probe fails is restarted", async () => {
  await using w = await world();
  const containers = [{ name: "web", image: "nginx", livenessProbe: { tcpSocket: { port: 80 } } }];
  await w.create("web", { containers }, { "simulated.knarr.dev/live-for": "5s" });
  await w.untilPod("web", (pod) => pod?.status.containerStatuses?.[0]?.restartCount === 1);
  const events = await w.client.list(Event, { namespace: "default" });
  assert.ok(events.items.some(({ message }) => message === "Container web failed liveness probe, will be restarted"));
});

test("a pod is ready when its readiness probe says so", async () => {
  await using w = await world();
  const containers = [
    { name: "web", image: "nginx", readinessProbe: { tcpSocket: { port: 80 }, initialDelaySeconds: 4 } },
  ];
  await w.create("web", { containers });
  await w.untilPod("web", (pod) => pod?.status.phase === "Running");
  assert.equal(condition(await w.pod("web"), "Ready"), "False");
  await w.server.clock.advance(4000);
  await w.untilPod("web", isReady);
});

test("a node that is stopped does nothing until it is started again", async () => {
  await using w = await world();
  await w.create("web");
  await w.untilPod("web", isReady);
  w.nodes.stop("sim-0");
  const lease = { namespace: "kube-node-lease", name: "sim-0" };
  const before = await w.client.get(Lease, lease);
  await w.client.delete(Pod, { namespace: "default", name: "web" });
  await w.server.clock.advance(60_000);
  assert.equal((await w.client.get(Lease, lease)).spec.renewTime, before.spec.renewTime);
  assert.notEqual(await w.pod("web"), undefined);
  w.nodes.start("sim-0");
  await w.untilPod("web", (pod) => pod === undefined);
});

test("a pod that was removed from the API by force is stopped all the same", async () => {
  await using w = await world();
  await w.create("web", {}, { "simulated.knarr.dev/stop-delay": "1s" });
  await w.untilPod("web", isReady);
  await w.client.delete(Pod, { namespace: "default", name: "web" }, { graceSeconds: 0 });
  assert.equal(await w.pod("web"), undefined);
  await w.create("web");
  await w.untilPod("web", isReady);
  await w.server.clock.advance(2000);
  assert.equal((await w.nodes.runtime.pods()).length, 1);
});

test("a pressed node says so", async () => {
  await using w = await world();
  w.nodes.setHealth("sim-0", { memoryPressure: true });
  await w.until(async () => {
    const node = await w.client.get(Node, { name: "sim-0" });
    return node.status.conditions?.find(({ type }) => type === "MemoryPressure")?.status === "True";
  });
});

test("logs of simulated containers are what their scripts say, as asked for", async () => {
  await using w = await world();
  await w.create("web", {}, { "simulated.knarr.dev/logs": "one\ntwo\nthree\n" });
  await w.untilPod("web", isReady);
  const ask = async (url: string, node = "sim-0") => {
    const { signal } = new AbortController();
    const response = await w.nodes.handle(node, { method: "GET", url, headers: {}, signal });
    return [response.code, await readAll(response.body)];
  };
  const table: readonly [string, number, string][] = [
    ["/containerLogs/default/web/web", 200, "one\ntwo\nthree\n"],
    ["/containerLogs/default/web/web?tailLines=1", 200, "three\n"],
    ["/containerLogs/default/web/web?tailLines=0", 200, ""],
    ["/containerLogs/default/web/web?limitBytes=5", 200, "one\nt"],
    ["/containerLogs/default/web/web?sinceTime=2027-01-01T00:00:00Z", 200, ""],
    ["/containerLogs/default/web/web?tailLines=-1", 422, '{"message": "Invalid request."}'],
    ["/containerLogs/default/web/web?previous=true", 400, 'previous terminated container "web" in pod "web" not found'],
    ["/containerLogs/default/web/other", 404, 'container "other" not found in pod "web"'],
    ["/containerLogs/default/none/web", 404, 'pod "none" does not exist'],
    ["/exec/default/web/web?command=ls", 400, "you must specify at least 1 of stdin, stdout, stderr"],
    ["/exec/default/web/other?command=ls&output=1", 500, 'container not found ("other")'],
    ["/%zz", 400, "the path is not escaped properly"],
    ["/healthz", 200, "ok"],
  ];
  for (const [url, code, body] of table) assert.deepEqual(await ask(url), [code, body], url);
  const [, stamped] = await ask("/containerLogs/default/web/web?timestamps=true&tailLines=1");
  assert.match(String(stamped), /^2026-01-01T00:00:0\d\.\d{9}Z three\n$/);
  assert.deepEqual((await ask("/containerLogs/default/web/web", "sim-1"))[0], 404);
  w.nodes.stop("sim-0");
  await assert.rejects(ask("/healthz"), { name: "NodeUnreachable" });
});

test("a node tells what its pods use", async () => {
  await using w = await world();
  const containers = [{ name: "web", image: "nginx", resources: { requests: { cpu: "2", memory: "1Gi" } } }];
  await w.create("web", { containers });
  await w.create("busy", {}, { "simulated.knarr.dev/cpu": "500m", "simulated.knarr.dev/memory": "64Mi" });
  await w.untilPod("web", isReady);
  await w.untilPod("busy", isReady);
  const { signal } = new AbortController();
  await w.server.clock.advance(10_000);
  const ask = async (node: string) =>
    String(
      await readAll(
        (await w.nodes.handle(node, { method: "GET", url: "/metrics/resource", headers: {}, signal })).body,
      ),
    )
      .split("\n")
      .map((line) => line.replace(/ \d{13}$/, "")); // when it was measured
  const lines = await ask("sim-0");
  assert.ok(
    lines.includes('container_memory_working_set_bytes{container="web",namespace="default",pod="busy"} 67108864'),
  );
  assert.ok(lines.includes(`pod_memory_working_set_bytes{namespace="default",pod="web"} ${2 ** 30 / 10}`));
  const cpu = lines.find((line) => line.startsWith('pod_cpu_usage_seconds_total{namespace="default",pod="busy"}'));
  assert.ok(Number(cpu?.split(" ")[1]) >= 5, cpu);
  assert.ok((await ask("sim-1")).includes("node_memory_working_set_bytes 0"));
});

test("a log that is followed ends with its container", async () => {
  await using w = await world();
  await w.create("job", { restartPolicy: "Never" });
  await w.untilPod("job", isReady);
  const { signal } = new AbortController();
  const url = "/containerLogs/default/job/web?follow=true";
  const { body } = await w.nodes.handle("sim-0", { method: "GET", url, headers: {}, signal });
  const reading = readAll(body);
  await w.server.clock.advance(2000);
  assert.equal(await reading, "started\n");
});

/** References to objects that are not there, what is told of them, and what lets the pod start. */
const missingInputs: readonly {
  readonly what: string;
  readonly spec: Draft<Pod["spec"]>;
  readonly told: string;
  readonly isMounted: boolean;
}[] = [
  {
    what: "a ConfigMap for variables",
    spec: { containers: [{ name: "web", image: "nginx", envFrom: [{ configMapRef: { name: "conf" } }] }] },
    told: 'configmap "conf" not found',
    isMounted: false,
  },
  {
    what: "a key of a ConfigMap",
    spec: {
      containers: [
        {
          name: "web",
          image: "nginx",
          env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "partial", key: "late" } } }],
        },
      ],
    },
    told: "couldn't find key late in ConfigMap default/partial",
    isMounted: false,
  },
  {
    what: "a Secret for a variable",
    spec: {
      containers: [
        {
          name: "web",
          image: "nginx",
          env: [{ name: "A", valueFrom: { secretKeyRef: { name: "hidden", key: "late" } } }],
        },
      ],
    },
    told: 'secret "hidden" not found',
    isMounted: false,
  },
  {
    what: "a ConfigMap for a volume",
    spec: { containers: [{ name: "web", image: "nginx" }], volumes: [{ name: "v", configMap: { name: "conf" } }] },
    told: 'MountVolume.SetUp failed for volume "v" : configmap "conf" not found',
    isMounted: true,
  },
  {
    what: "a Secret for a volume",
    spec: { containers: [{ name: "web", image: "nginx" }], volumes: [{ name: "v", secret: { secretName: "hidden" } }] },
    told: 'MountVolume.SetUp failed for volume "v" : secret "hidden" not found',
    isMounted: true,
  },
  {
    what: "a key for a file",
    spec: {
      containers: [{ name: "web", image: "nginx" }],
      volumes: [
        {
          name: "v",
          projected: { sources: [{ configMap: { name: "partial", items: [{ key: "late", path: "f" }] } }] },
        },
      ],
    },
    told: 'MountVolume.SetUp failed for volume "v" : references non-existent configmap key: late',
    isMounted: true,
  },
];

for (const { what, spec, told, isMounted } of missingInputs)
  test(`a simulated pod waits for ${what} as a real one does, and starts when it comes`, async () => {
    await using w = await world();
    const namespace = "default";
    await w.client.create(ConfigMap, { metadata: { name: "partial", namespace }, data: { early: "1" } });
    await w.create("web", spec);
    const events = async () => (await w.client.list(Event, { namespace })).items;
    const reason = isMounted ? "FailedMount" : "Failed";
    await w.until(async () => (await events()).some((event) => event.reason === reason));
    const [event] = (await events()).filter((one) => one.reason === reason);
    assert.equal(event?.message, isMounted ? told : `Error: ${told}`);
    const waiting = ({ status }: Pod) => status.containerStatuses?.[0]?.state.waiting;
    const expected = isMounted ? "ContainerCreating" : "CreateContainerConfigError";
    await w.untilPod("web", (pod) => pod !== undefined && waiting(pod)?.reason === expected);
    const pod = await w.pod("web");
    assert.equal(pod?.status.phase, "Pending");
    if (!isMounted) assert.equal(pod && waiting(pod)?.message, told);
    for (const name of ["conf", "partial"])
      await w.client
        .patch(ConfigMap, { namespace, name }, "merge", { data: { late: "1" } })
        .catch(() => w.client.create(ConfigMap, { metadata: { name, namespace }, data: { late: "1" } }));
    await w.client.create(Secret, { metadata: { name: "hidden", namespace }, data: { late: btoa("1") } });
    await w.untilPod("web", isReady);
  });

test("what is optional may be missing on simulated nodes, too", async () => {
  await using w = await world();
  const optional = true;
  await w.create("web", {
    containers: [
      {
        name: "web",
        image: "nginx",
        envFrom: [{ configMapRef: { name: "conf", optional } }, { secretRef: { name: "hidden", optional } }],
        env: [{ name: "A", valueFrom: { secretKeyRef: { name: "hidden", key: "k", optional } } }],
      },
    ],
    volumes: [
      { name: "a", configMap: { name: "conf", optional } },
      { name: "b", secret: { secretName: "hidden", optional } },
      { name: "c", projected: { sources: [{ secret: { name: "hidden", optional } }] } },
    ],
  });
  await w.untilPod("web", isReady);
});

test("a pod that waits for an object that never comes can be deleted", async () => {
  await using w = await world();
  await w.create("web", { volumes: [{ name: "v", configMap: { name: "never" } }] });
  await w.until(async () => (await w.client.list(Event, { namespace: "default" })).items.length > 0);
  await w.client.delete(Pod, { namespace: "default", name: "web" });
  await w.untilPod("web", (pod) => pod === undefined);
});

test("nodes that are started anew tell how the runs before them ended", async () => {
  await using w = await world();
  await w.create("web");
  await w.untilPod("web", isReady);
  const before = (await w.pod("web"))?.status.containerStatuses?.[0];
  const debug = { ephemeralContainers: [{ name: "debug", image: "busybox" }] };
  await w.client.patch(
    Pod,
    { namespace: "default", name: "web" },
    "strategic",
    { spec: debug },
    { subresource: "ephemeralcontainers" },
  );
  const debugOf = (pod: Pod | undefined) => pod?.status.ephemeralContainerStatuses?.[0];
  await w.untilPod("web", (pod) => debugOf(pod)?.state.running !== undefined);
  const id = debugOf(await w.pod("web"))?.containerID?.split("//")[1] ?? "";
  w.nodes.runtime.exit(id, 0);
  await w.untilPod("web", (pod) => debugOf(pod)?.state.terminated !== undefined);
  w.nodes.stop("sim-0");
  await w.server.clock.advance(5000);
  const { signal } = new AbortController();
  const stop = new AbortController();
  // Another process with the same nodes, which knows nothing of the first one's containers.
  const transport = w.server.server.request;
  const clientFor = (node: string) => {
    const user = { name: `system:node:${node}`, groups: ["system:nodes"] };
    return new Client({ transport, user, userAgent: "kubelet/1", signal });
  };
  const common = { client: w.client, clock: w.server.clock, random: seededRandom(9), log: silentLog };
  const informers = new Informers(common);
  const again = simulatedNodes({ ...common, names: ["sim-0"], clientFor, informers });
  const running = supervise([informers, again], stop.signal);
  try {
    await w.untilPod("web", (pod) => isReady(pod) && pod?.status.containerStatuses?.[0]?.restartCount === 1);
    const after = (await w.pod("web"))?.status.containerStatuses?.[0];
    assert.notEqual(after?.containerID, before?.containerID);
    const { exitCode, reason, startedAt, finishedAt, containerID } = after?.lastState.terminated ?? {};
    assert.deepEqual([exitCode, reason, containerID], [255, "Unknown", before?.containerID]);
    assert.equal(startedAt, before?.state.running?.startedAt);
    assert.ok(finishedAt, "kubectl tells from this when it was restarted");
    assert.equal(debugOf(await w.pod("web"))?.state.terminated?.reason, "Completed", "which is never started again");
  } finally {
    stop.abort(new Error("enough"));
    await running.catch(() => undefined); // it ends by the abort
  }
});

test("simulated nodes tell of themselves and their pods wherever a kubelet is asked", async () => {
  await using w = await world();
  await w.create("busy", {}, { "simulated.knarr.dev/cpu": "500m", "simulated.knarr.dev/memory": "64Mi" });
  await w.untilPod("busy", isReady);
  await w.server.clock.advance(10_000);
  const { signal } = new AbortController();
  const ask = async (url: string) => {
    const { code, body } = await w.nodes.handle("sim-0", { method: "GET", url, headers: {}, signal });
    assert.equal(code, 200, url);
    return readAll(body);
  };
  const { node, pods } = JSON.parse(await ask("/stats/summary"));
  assert.equal(node.nodeName, "sim-0");
  assert.deepEqual([node.cpu.usageNanoCores, node.memory.workingSetBytes], [5e8, 64 * 2 ** 20]);
  assert.equal(node.memory.availableBytes, 256 * 2 ** 30 - 64 * 2 ** 20);
  assert.equal(node.fs.capacityBytes, 512 * 2 ** 30);
  assert.deepEqual(
    pods.map(({ podRef, containers }: { podRef: { name: string }; containers: { name: string }[] }) => [
      podRef.name,
      containers.map(({ name }) => name),
    ]),
    [["busy", ["web"]]],
  );
  assert.ok(pods[0].cpu.usageCoreNanoSeconds >= 5e9);
  const brief = JSON.parse(await ask("/stats/summary?only_cpu_and_memory=true"));
  assert.deepEqual([brief.node.fs, brief.pods[0].containers[0].rootfs], [undefined, undefined]);
  const metrics = await ask("/metrics");
  assert.match(metrics, /^kubelet_node_name\{node="sim-0"\} 1$/m);
  assert.match(metrics, /^kubelet_running_pods 1$/m);
  assert.match(
    await ask("/metrics"),
    /kubelet_http_requests_total\{.*stats.*\} 2/,
    "counts go on from request to request",
  );
  assert.match(await ask("/metrics/cadvisor"), /container_memory_working_set_bytes\{container="web"/);
  assert.match(await ask("/configz"), /"maxPods":110/);
});

async function readAll(body: HttpResponse["body"]): Promise<string> {
  if (typeof body === "string") return body;
  let text = "";
  if (isStream(body)) for await (const part of body) text += Buffer.from(part).toString();
  return text;
}
