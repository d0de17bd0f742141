// Rollouts of random workloads on a whole control plane that fails at times, and what must hold in every single event that a watch
// of pods shows.
import assert from "node:assert/strict";
import fc from "fast-check";
import { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { TestServer } from "#apiserver/testing.ts";
import { ApiError, isNotFound } from "#base/errors.ts";
import { type Random, seededRandom } from "#base/random.ts";
import type { Transport } from "#client/client.ts";
import { isReady } from "#rules/conditions.ts";
import { isActive, isAvailable } from "#rules/pods.ts";
import { scaledValueOf } from "#schema/int-or-string.ts";
import { timeOf } from "#schema/time.ts";
import { daemonSetController } from "../../src/controllers/daemonset/daemonset.ts";
import { targetNode } from "../../src/controllers/daemonset/placement.ts";
import { deploymentController } from "../../src/controllers/deployment/deployment.ts";
import { replicaSetController } from "../../src/controllers/replicaset.ts";
import { ordinalOf } from "../../src/controllers/statefulset/identity.ts";
import { statefulSetController } from "../../src/controllers/statefulset/statefulset.ts";
import { type TestCluster, type TestClusterOptions, testCluster } from "./cluster.ts";

const namespace = "default";
const place = { namespace, name: "web" };
const labels = { app: "web" };
export const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: "c", image }] } });

/** What is random about a rollout, besides its strategy. */
interface Course {
  readonly seed: number;
  readonly minReadySeconds: number;
  /** One after the other; pods with a bad one never become ready. */
  readonly images: readonly string[];
  /** How many of a hundred requests fail: half of them after the fact. */
  readonly failing: number;
  /** In how many of a hundred looks a kubelet makes a pod ready. */
  readonly ready: number;
}

const course: fc.Arbitrary<Course> = fc.record({
  seed: fc.nat(1_000_000),
  minReadySeconds: fc.constantFrom(0, 0, 3),
  images: fc.array(fc.constantFrom("v1", "v2", "v3", "bad"), { minLength: 1, maxLength: 3 }),
  failing: fc.constantFrom(0, 0, 10, 20),
  ready: fc.constantFrom(20, 60, 100),
});
const amount = fc.oneof(fc.nat(3), fc.constantFrom("0%", "20%", "34%", "50%", "100%"));
const isZero = (value: number | string) => value === 0 || value === "0%";

/** The pods there are after an event, and the pod the event is about as it was before. */
interface Moment {
  readonly pods: readonly Pod[];
  readonly event: string;
  readonly pod: Pod;
  readonly before: Pod | undefined;
  readonly now: number;
}

export const deploymentRollout = fc.asyncProperty(
  course,
  fc.integer({ min: 1, max: 6 }),
  fc.tuple(amount, amount).filter((both) => !both.every(isZero)),
  async (given, replicas, [maxSurge, maxUnavailable]) => {
    const strategy = { type: "RollingUpdate" as const, rollingUpdate: { maxSurge, maxUnavailable } };
    const { minReadySeconds } = given;
    const surge = scaledValueOf(maxSurge, replicas, "up");
    const missing = Math.min(replicas, scaledValueOf(maxUnavailable, replicas, "down") || (surge === 0 ? 1 : 0));
    await rollOut(given, {
      controllers: [deploymentController, replicaSetController],
      kind: Deployment,
      create: ({ client }) =>
        client.create(Deployment, { metadata: place, spec: { replicas, minReadySeconds, strategy, ...common } }),
      isDone: async ({ client }) => {
        const { metadata, spec, status } = await client.get(Deployment, place);
        const { updatedReplicas, replicas: all, availableReplicas, observedGeneration } = status;
        const isFull = [updatedReplicas, all, availableReplicas].every((count) => count === spec.replicas);
        return isFull && observedGeneration === metadata.generation;
      },
      check({ pods, now }) {
        const active = pods.filter(isActive);
        const available = active.filter((pod) => isAvailable(pod, minReadySeconds, now)).length;
        assert.ok(active.length <= replicas + surge, `${active.length} pods, ${replicas} + ${surge} are allowed`);
        assert.ok(available >= replicas - missing, `${available} work, ${replicas} - ${missing} must`);
      },
    });
  },
);

export const statefulSetRollout = fc.asyncProperty(
  course,
  fc.integer({ min: 1, max: 4 }),
  fc.nat(4),
  fc.nat(3),
  async (given, replicas, partition, firstOrdinal) => {
    const { minReadySeconds } = given;
    const updateStrategy = { type: "RollingUpdate" as const, rollingUpdate: { partition } };
    const updated = Math.max(0, replicas - partition);
    await rollOut(given, {
      controllers: [statefulSetController],
      kind: StatefulSet,
      create: ({ client }) =>
        client.create(StatefulSet, {
          metadata: place,
          spec: {
            replicas,
            minReadySeconds,
            updateStrategy,
            ordinals: { start: firstOrdinal },
            serviceName: "web",
            ...common,
          },
        }),
      isDone: async ({ client }) => {
        const { metadata, status } = await client.get(StatefulSet, place);
        const isNew = status.currentRevision === status.updateRevision;
        const isFull = status.replicas === replicas && status.availableReplicas === replicas;
        const isUpdated = (status.updatedReplicas ?? 0) === (isNew ? replicas : updated);
        return isFull && isUpdated && status.observedGeneration === metadata.generation;
      },
      check({ pods, event, pod, before, now }) {
        const works = (one: Pod) => isActive(one) && isAvailable(one, minReadySeconds, now);
        const lower = pods.filter((one) => ordinalOf(one) < ordinalOf(pod));
        if (event === "ADDED") {
          assert.equal(lower.length, ordinalOf(pod) - firstOrdinal, `${pod.metadata.name} came before one below it`);
          assert.ok(lower.every(works), `${pod.metadata.name} came while one below it did not work`);
        }
        if (before === undefined || !isActive(before) || isActive(pod) || !isReady(before)) return;
        const others = pods.filter((one) => one.metadata.uid !== pod.metadata.uid);
        assert.ok(
          others.every(works) && others.length === replicas - 1,
          `${pod.metadata.name} went while another did not work`,
        );
        assert.ok(ordinalOf(pod) >= firstOrdinal + partition, `${pod.metadata.name} is below the partition`);
      },
    });
  },
);

export const daemonSetRollout = fc.asyncProperty(
  course,
  fc.integer({ min: 1, max: 5 }),
  fc.boolean(),
  amount.filter((value) => !isZero(value)),
  async (given, nodes, hasSurge, value) => {
    const { minReadySeconds } = given;
    const rollingUpdate = hasSurge ? { maxSurge: value, maxUnavailable: 0 } : { maxSurge: 0, maxUnavailable: value };
    const most = scaledValueOf(value, nodes, "up");
    const names = Array.from({ length: nodes }, (_, i) => `n${i}`);
    await rollOut(given, {
      controllers: [daemonSetController()],
      kind: DaemonSet,
      async create({ client }) {
        for (const name of names) await client.create(Node, { metadata: { name } });
        const updateStrategy = { type: "RollingUpdate" as const, rollingUpdate };
        await client.create(DaemonSet, { metadata: place, spec: { minReadySeconds, updateStrategy, ...common } });
      },
      isDone: async ({ client }) => {
        const { metadata, status } = await client.get(DaemonSet, place);
        const { updatedNumberScheduled, numberAvailable, observedGeneration } = status;
        const isFull = [updatedNumberScheduled, numberAvailable].every((count) => count === nodes);
        return isFull && observedGeneration === metadata.generation;
      },
      check({ pods, now }) {
        const on = names.map((name) => pods.filter((pod) => isActive(pod) && targetNode(pod) === name));
        const crowded = on.filter((some) => some.length > 1).length;
        const bare = on.filter((some) => !some.some((pod) => isAvailable(pod, minReadySeconds, now))).length;
        assert.ok(on.every((some) => some.length <= 2));
        assert.ok(crowded <= (hasSurge ? most : 0), `${crowded} nodes have two pods, ${most} may`);
        assert.ok(bare <= (hasSurge ? 0 : most), `${bare} nodes have no pod that works, ${most} may`);
      },
    });
  },
);

const common = { selector: { matchLabels: labels }, template: template("v1") };

interface Workload extends Pick<TestClusterOptions, "controllers"> {
  readonly kind: typeof Deployment | typeof StatefulSet | typeof DaemonSet;
  create(cluster: TestCluster): Promise<unknown>;
  isDone(cluster: TestCluster): Promise<boolean>;
  check(moment: Moment): void;
}

/** Changes the template from image to image, whether the one before got anywhere or not, and ends with one that works. */
async function rollOut(given: Course, { controllers, kind, create, isDone, check }: Workload): Promise<void> {
  const random = seededRandom(given.seed);
  await using cluster = await testCluster({ controllers, transport: failing(given.failing / 100, random) });
  const { client, server, until } = cluster;
  const live = () => runPods(cluster, given.ready / 100, random);
  const settled = () =>
    until(async () => {
      await live();
      return isDone(cluster);
    }, 2000);
  await create(cluster);
  await settled();

  const watch = await watchPods(cluster, check);
  for (const image of given.images) {
    await client.patch(kind, place, "strategic", { spec: { template: template(image) } });
    for (let steps = random.below(60); steps > 0; steps--) {
      await live();
      await server.clock.advance(100);
    }
  }
  await client.patch(kind, place, "strategic", { spec: { template: template("good") } });
  await until(async () => {
    await live();
    if (kind === StatefulSet) await deleteBroken(cluster);
    return isDone(cluster);
  }, 3000);
  await watch.end();
}

/** Out of order nothing helps a StatefulSet over a broken pod but deleting it, as upstream has it. */
async function deleteBroken({ client }: TestCluster): Promise<void> {
  const { items } = await client.list(Pod);
  for (const pod of items.filter((one) => isActive(one) && isBroken(one))) await client.delete(Pod, pod.metadata);
}

const isBroken = ({ spec }: Pod): boolean => spec.containers[0]?.image === "bad";

async function watchPods({ client, server }: TestCluster, check: (moment: Moment) => void) {
  const { items, resourceVersion } = await client.list(Pod);
  const pods = new Map(items.map((pod) => [pod.metadata.uid, pod]));
  const stop = new AbortController();
  const events = await client.watch(Pod, { resourceVersion, signal: stop.signal });
  let violation: unknown;
  const watching = (async () => {
    for await (const batch of events)
      for (const { type, object: pod } of batch) {
        if (type === "BOOKMARK") continue;
        const before = pods.get(pod.metadata.uid);
        if (type === "DELETED") pods.delete(pod.metadata.uid);
        else pods.set(pod.metadata.uid, pod);
        try {
          check({ pods: [...pods.values()], event: type, pod, before, now: server.clock.now() });
        } catch (error) {
          violation ??= error;
        }
      }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return {
    async end(): Promise<void> {
      stop.abort(new Error("enough was seen"));
      await watching;
      if (violation !== undefined) throw violation;
    },
  };
}

/** Kubelets: they end pods that are asked to end, and make others ready sooner or later. */
async function runPods({ client, server }: TestCluster, share: number, random: Random): Promise<void> {
  for (const pod of (await client.list(Pod)).items) {
    if (random.next() >= share) continue;
    try {
      if (pod.metadata.deletionTimestamp !== undefined) await client.delete(Pod, pod.metadata, { graceSeconds: 0 });
      else if (!isReady(pod) && !isBroken(pod)) {
        const conditions = [{ type: "Ready", status: "True", lastTransitionTime: timeOf(server.clock.now()) }];
        await client.update(Pod, { ...pod, status: { ...pod.status, phase: "Running", conditions } }, "status");
      }
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

const failing =
  (share: number, random: Random) =>
  ({ server }: TestServer): Transport =>
  async (request) => {
    const roll = random.next();
    if (roll < share / 2) throw new ApiError({ code: 500, reason: "InternalError", message: "injected" });
    const response = await server.request(request);
    if (roll < share) throw new ApiError({ code: 503, reason: "ServiceUnavailable", message: "injected" });
    return response;
  };
