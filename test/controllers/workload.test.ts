import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ReplicationController } from "#api/core/v1/replication-controller.ts";
import { ApiError } from "#base/errors.ts";
import { seededRandom } from "#base/random.ts";
import { isReady } from "#rules/conditions.ts";
import { isActive } from "#rules/pods.ts";
import { timeOf } from "#schema/time.ts";
import { deploymentController } from "../../src/controllers/deployment/deployment.ts";
import { replicaSetController } from "../../src/controllers/replicaset.ts";
import { replicationControllerController } from "../../src/controllers/replicationcontroller.ts";
import { type TestCluster, type TestClusterOptions, testCluster } from "./cluster.ts";

const namespace = "default";
const controllers = [deploymentController, replicaSetController, replicationControllerController];
const template = (image: string, name = "web") => ({
  metadata: { labels: { app: name } },
  spec: { containers: [{ name: "c", image }] },
});
const web = (replicas: number, strategy: object = {}, name = "web") => ({
  metadata: { namespace, name },
  spec: { replicas, selector: { matchLabels: { app: name } }, template: template("v1", name), strategy },
});

/** Makes every pod ready that is not, as kubelets would. */
async function runPods({ client, server }: TestCluster): Promise<void> {
  for (const pod of (await client.list(Pod)).items.filter((one) => isActive(one) && !isReady(one))) {
    const at = timeOf(server.clock.now());
    const status = {
      ...pod.status,
      phase: "Running" as const,
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: at }],
    };
    await client.update(Pod, { ...pod, status }, "status");
  }
}

const isComplete = async ({ client }: TestCluster, name = "web") => {
  const { metadata, spec, status } = await client.get(Deployment, { namespace, name });
  const { updatedReplicas = 0, replicas = 0, availableReplicas = 0, observedGeneration } = status;
  const isFull = [updatedReplicas, replicas, availableReplicas].every((count) => count === spec.replicas);
  return isFull && observedGeneration === metadata.generation;
};

const rollOut = (cluster: TestCluster, steps = 600) =>
  cluster.until(async () => {
    await runPods(cluster);
    return isComplete(cluster);
  }, steps);

const failing =
  (share: number): TestClusterOptions["transport"] =>
  ({ server }) => {
    const random = seededRandom(11);
    return async (request) => {
      const roll = random.next();
      if (roll < share / 2) throw new ApiError({ code: 500, reason: "InternalError", message: "injected" });
      const response = await server.request(request);
      // the other half fails after the fact: the write is done, its answer is lost
      if (roll < share) throw new ApiError({ code: 503, reason: "ServiceUnavailable", message: "injected" });
      return response;
    };
  };

test("a rollout on a server stays within its bounds in every event that a watch shows", async () => {
  await using cluster = await testCluster({ controllers });
  const { client } = cluster;
  const rollingUpdate = { maxSurge: 2, maxUnavailable: 1 };
  await client.create(Deployment, web(8, { type: "RollingUpdate", rollingUpdate }));
  await rollOut(cluster);

  const pods = new Map((await client.list(Pod)).items.map((pod) => [pod.metadata.name, pod]));
  const { resourceVersion } = await client.list(Pod);
  const stop = new AbortController();
  const events = await client.watch(Pod, { resourceVersion, signal: stop.signal });
  const bounds = { most: 0, least: 8 };
  const watching = (async () => {
    for await (const batch of events)
      for (const { type, object } of batch) {
        if (type === "BOOKMARK") continue;
        if (type === "DELETED") pods.delete(object.metadata.name);
        else pods.set(object.metadata.name, object);
        const active = [...pods.values()].filter(isActive);
        bounds.most = Math.max(bounds.most, active.length);
        bounds.least = Math.min(bounds.least, active.filter(isReady).length);
      }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  for (const image of ["v2", "v3", "v1"]) {
    await client.patch(Deployment, web(8).metadata, "strategic", { spec: { template: template(image) } });
    await rollOut(cluster);
  }
  stop.abort(new Error("enough was seen"));
  await watching;
  assert.deepEqual(bounds, { most: 10, least: 7 });
});

test("with every fifth request failing a rollout still arrives, with no pod too many, and then nothing is written", async () => {
  let writes = 0;
  await using cluster = await testCluster({
    controllers,
    transport: (server) => {
      const through = failing(0.2)?.(server);
      return (request) => {
        if (!["get", "list", "watch"].includes(request.verb) && request.resource !== "events") writes++;
        return through?.(request) ?? Promise.reject(new Error("no transport"));
      };
    },
  });
  const { client, server } = cluster;
  await client.create(Deployment, web(6));
  await rollOut(cluster, 3000);
  await client.patch(Deployment, web(6).metadata, "strategic", { spec: { template: template("v2") } });
  await rollOut(cluster, 3000);
  const sizes = (await client.list(ReplicaSet)).items.map(({ spec, status }) => [spec.replicas, status.replicas]);
  assert.deepEqual(sizes.sort(), [
    [0, 0],
    [6, 6],
  ]);
  assert.equal((await client.list(Pod)).items.filter(isActive).length, 6);
  await server.clock.advance(30_000);
  writes = 0;
  await server.clock.advance(300_000);
  assert.equal(writes, 0);
});

test("a pod that is deleted by hand comes back, and one with other labels is let go", async () => {
  await using cluster = await testCluster({ controllers });
  const { client, until } = cluster;
  const { strategy: _strategy, selector, ...spec } = web(3).spec;
  const rc = { metadata: { namespace, name: "web" }, spec: { ...spec, selector: selector.matchLabels } };
  const owner = await client.create(ReplicationController, rc);
  const active = async () => (await client.list(Pod)).items.filter(isActive);
  const own = async () =>
    (await active()).filter(({ metadata }) => metadata.ownerReferences?.[0]?.uid === owner.metadata.uid).length;
  await until(async () => (await own()) === 3);
  const [victim, freed] = await active();
  await client.delete(Pod, victim!.metadata);
  await client.patch(Pod, freed!.metadata, "merge", { metadata: { labels: { app: "debug" } } });
  await until(async () => (await own()) === 3 && (await active()).length === 4);
  const alone = await client.get(Pod, freed!.metadata);
  assert.equal(alone.metadata.ownerReferences, undefined);
  await client.patch(Pod, freed!.metadata, "merge", { metadata: { labels: { app: "web" } } });
  await until(async () => (await active()).length === 3);
});

test("an impossible template is reported on the deployment, and does not spin", async () => {
  let creates = 0;
  await using cluster = await testCluster({
    controllers,
    transport:
      ({ server }) =>
      async (request) => {
        if (request.verb === "create" && request.resource === "pods") {
          creates++;
          throw new ApiError({ code: 403, reason: "Forbidden", message: 'pods "web-" is forbidden: no' });
        }
        return server.request(request);
      },
  });
  const { client, until, server } = cluster;
  await client.create(Deployment, web(50));
  await until(async () => {
    const { status } = await client.get(Deployment, { namespace, name: "web" });
    return (
      status.conditions?.some(({ type, reason }) => type === "ReplicaFailure" && reason === "FailedCreate") === true
    );
  });
  await server.clock.advance(600_000);
  assert.ok(creates < 40, `${creates} tries in ten minutes`);
});
