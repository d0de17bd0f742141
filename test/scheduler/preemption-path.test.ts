// Preemption from the scheduler's decision to the kubelet's: victims count until their containers have stopped, and the room that they
// leave belongs to the pod for which they were sent away.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { replicaSetController } from "#controllers/replicaset.ts";
import { kubelet } from "#kubelet/kubelet.ts";
import { SimulatedRuntime } from "#kubelet/runtime/simulated.ts";
import { simulatedStreams } from "#kubelet/simulated/streams.ts";
import { Scheduler } from "#scheduler/scheduler.ts";
import type { Draft } from "#schema/infer.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { type TestCluster, testCluster } from "../controllers/cluster.ts";
import { testDescription } from "../kubelet/description.ts";

const namespace = "default";
/** The kubelet does not know it: it was put into the node's status by someone else. */
const units = "example.com/units";
const all = 1000;
const node = testDescription.name;

interface Options {
  /** How long it takes to give up the volumes of a pod that has stopped. */
  readonly releaseMs?: (pod: Pod) => number;
  readonly seed?: number;
  /** Called before each binding, with the name of the pod. */
  readonly bindingTo?: (name: string) => Promise<void>;
}

/** One node with a kubelet, the scheduler, and the controller that makes pods again. */
async function preemptionCluster({ releaseMs = () => 0, seed = 1, bindingTo }: Options = {}): Promise<TestCluster> {
  const cluster = await testCluster({
    controllers: [replicaSetController],
    transport:
      ({ server }) =>
      async (request: ApiRequest) => {
        if (request.subresource === "binding") await bindingTo?.(request.name ?? "");
        return server.request(request);
      },
    components: ({ client, informers, server }) => {
      const { clock } = server;
      const runtime = new SimulatedRuntime({ clock, allocate: () => ["10.244.0.9"], release: () => undefined });
      const answer = async () => ({ result: "success" as const, output: "" });
      const { signal } = new AbortController();
      const own = kubelet({
        description: testDescription,
        client: new Client({
          transport: server.server.request,
          user: { name: `system:node:${node}`, groups: ["system:nodes"] },
          userAgent: "kubelet/1",
          signal,
        }),
        runtime,
        probes: { http: answer, tcp: answer, grpc: answer },
        streams: simulatedStreams(runtime, () => undefined),
        spdyCompression: () => assert.fail("nobody speaks SPDY here"),
        hostResources: [
          {
            release: (pod, stop) => clock.sleep(releaseMs(pod), stop),
            remove: async () => undefined,
            pods: async () => [],
          },
        ],
        clock,
        random: seededRandom(seed),
        log: silentLog,
      });
      return [own, new Scheduler({ client, informers, clock, random: seededRandom(seed), log: silentLog })];
    },
  });
  const { client, until } = cluster;
  const isReady = async () =>
    (await client.find(Node, { name: node }))?.status.conditions?.some(
      ({ type, status }) => type === "Ready" && status === "True",
    ) === true;
  await until(isReady);
  const amounts = { [units]: String(all) };
  const status = { capacity: amounts, allocatable: amounts };
  await client.patch(Node, { name: node }, "strategic", { status }, { subresource: "status" });
  return cluster;
}

const podSpec = (amount: number, priority: number, stopDelay = "0s"): Draft<ReplicaSet["spec"]["template"]> => ({
  metadata: { annotations: { "simulated.knarr.dev/stop-delay": stopDelay } },
  spec: {
    priority,
    containers: [
      {
        name: "app",
        image: "app",
        resources: { requests: { [units]: String(amount) }, limits: { [units]: String(amount) } },
      },
    ],
  },
});

async function createReplicaSet(client: Client, name: string, template: ReturnType<typeof podSpec>): Promise<void> {
  const labels = { name };
  await client.create(ReplicaSet, {
    metadata: { name, namespace },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  });
}

const createPod = (client: Client, name: string, { metadata, spec }: ReturnType<typeof podSpec>): Promise<Pod> =>
  client.create(Pod, { metadata: { ...metadata, name, namespace }, spec });

const podsOf = async (client: Client): Promise<readonly Pod[]> => (await client.list(Pod)).items;
const isRunning = ({ status }: Pod): boolean => status.phase === "Running";
const requestOf = ({ spec }: Pod): number => Number(spec.containers[0]?.resources.requests?.[units] ?? 0);

test("pods that are preempted are made again once, and stay pending", async () => {
  await using cluster = await preemptionCluster({ releaseMs: () => 3000 });
  const { client, until } = cluster;
  const seen = new Map<string, Set<string>>();
  const look = async (): Promise<readonly Pod[]> => {
    const pods = await podsOf(client);
    for (const { metadata } of pods) {
      const set = metadata.labels?.name ?? metadata.name;
      seen.set(set, (seen.get(set) ?? new Set()).add(metadata.uid));
    }
    return pods;
  };
  await createReplicaSet(client, "rs1", podSpec(200, 1, "500ms"));
  await createReplicaSet(client, "rs2", podSpec(300, 2, "900ms"));
  await createReplicaSet(client, "rs3", podSpec(450, 3));
  await until(async () => (await look()).filter(isRunning).length === 3);
  await createPod(client, "boss", podSpec(500, 4));
  await until(async () => (await look()).some((pod) => pod.metadata.name === "boss" && isRunning(pod)));
  for (let i = 0; i < 100; i++) {
    await cluster.server.clock.advance(100);
    await look();
  }
  assert.deepEqual(Object.fromEntries([...seen].map(([set, pods]) => [set, pods.size])), {
    rs1: 2,
    rs2: 2,
    rs3: 1,
    boss: 1,
  });
  const phases = (await look()).map(({ metadata, status }) => `${metadata.labels?.name ?? "boss"} ${status.phase}`);
  assert.deepEqual(phases.toSorted(), ["boss Running", "rs1 Pending", "rs2 Pending", "rs3 Running"]);
});

/** What a binding would break: the node's bounds, or what was promised to a pod of higher priority that could still come. */
function broken(pod: Pod, pods: readonly Pod[], inFlight: ReadonlySet<string>): readonly string[] {
  const { name } = pod.metadata;
  const isThere = ({ metadata, spec, status }: Pod) =>
    (spec.nodeName !== undefined || inFlight.has(metadata.name)) &&
    !["Succeeded", "Failed"].includes(status.phase ?? "");
  const taken = pods.filter((other) => other !== pod && isThere(other)).reduce((sum, one) => sum + requestOf(one), 0);
  const isPromised = (other: Pod) =>
    other.status.nominatedNodeName !== undefined &&
    !isThere(other) &&
    (other.spec.priority ?? 0) > (pod.spec.priority ?? 0) &&
    taken + requestOf(other) <= all;
  const problems = pods
    .filter((other) => isPromised(other) && taken + requestOf(other) + requestOf(pod) > all)
    .map((other) => `${name} was bound where room was made for ${other.metadata.name}`);
  if (taken + requestOf(pod) > all) problems.push(`${name} was bound where ${taken} of ${all} are taken`);
  return problems;
}

for (const seed of [1, 2, 3, 15])
  test(`nobody takes the room of a nominated pod, and no kubelet refuses a preemptor, by chance ${seed}`, async () => {
    const chance = seededRandom(seed);
    const oneOf = <T>(values: readonly T[]): T => values[chance.below(values.length)] as T;
    const problems: string[] = [];
    const inFlight = new Set<string>();
    const cluster: TestCluster = await preemptionCluster({
      seed,
      releaseMs: () => oneOf([0, 100, 2000]),
      async bindingTo(name) {
        const others = new Set(inFlight);
        inFlight.add(name);
        const pods = await podsOf(cluster.client);
        const pod = pods.find(({ metadata }) => metadata.name === name);
        if (pod) problems.push(...broken(pod, pods, others));
      },
    });
    await using _ = cluster;
    const { client, server } = cluster;
    let made = 0;
    for (let step = 0; step < 80; step++) {
      const pods = await podsOf(client);
      for (const { metadata, status } of pods)
        if (status.reason?.startsWith("OutOf")) problems.push(`${metadata.name}: ${status.message}`);
      const amount = oneOf([100, 200, 300, 450]);
      const template = podSpec(amount, oneOf([1, 2, 3, 4, 5]), oneOf(["0s", "300ms", "1500ms"]));
      const what = oneOf(["pod", "pod", "set", "delete", "wait", "wait"] as const);
      if (what === "set" && made < 12) await createReplicaSet(client, `set${made++}`, template);
      if (what === "pod") await createPod(client, `p${made++}`, template);
      const victim = what === "delete" && pods.length > 0 ? oneOf(pods) : undefined;
      if (victim) await client.delete(Pod, victim.metadata, { graceSeconds: oneOf([1, 5, 30]) });
      await server.clock.advance(oneOf([0, 10, 100, 1000, 3000]));
    }
    assert.deepEqual(problems.slice(0, 20), []);
    assert.ok(inFlight.size > 10, `${inFlight.size} bindings`);
  });
