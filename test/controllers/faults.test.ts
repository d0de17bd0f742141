// The whole control plane against a server that fails, a clock that is set, others who undo its work, and wishes nobody can grant.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { CronJob } from "#api/batch/v1/cron-job.ts";
import { Job } from "#api/batch/v1/job.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Endpoints } from "#api/core/v1/endpoints.ts";
import { Event } from "#api/core/v1/event.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import { Service } from "#api/core/v1/service.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { PodDisruptionBudget } from "#api/policy/v1/pod-disruption-budget.ts";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { turn } from "#base/breathe.ts";
import { ApiError, isConflict, isNotFound } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { type Random, seededRandom } from "#base/random.ts";
import type { Client, Transport } from "#client/client.ts";
import { ConnectionLost } from "#client/connection-lost.ts";
import { isActive } from "#rules/pods.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import { GarbageCollector } from "../../src/controllers/garbage/collector.ts";
import { controllers } from "../../src/controllers/list.ts";
import { PodGarbageCollector } from "../../src/controllers/pod-garbage/collector.ts";
import { discovery, type TestCluster, type TestClusterOptions, testCluster } from "./cluster.ts";
import { endPods, runPods } from "./pods.ts";

const namespace = "default";
const hourMs = 3_600_000;
const template = (image: string, labels: Record<string, string>) => ({
  metadata: { labels },
  spec: { containers: [{ name: "c", image }] },
});
const jobTemplate = { spec: { restartPolicy: "Never" as const, containers: [{ name: "c", image: "i" }] } };
const isOfJob = ({ metadata }: Pod) => metadata.labels?.["job-name"] !== undefined;
const isWrite = ({ verb, resource }: ApiRequest) => !["get", "list", "watch"].includes(verb) && resource !== "events";

/** Every controller there is, each as its service account, and both collectors. */
async function controlPlane(transport?: TestClusterOptions["transport"]): Promise<TestCluster> {
  const all = controllers({ discovery, rootCa: "-----BEGIN CERTIFICATE-----" });
  const cluster = await testCluster({
    controllers: all.map(({ controller }) => controller),
    serviceAccounts: Object.fromEntries(
      all.map(({ controller, serviceAccount }) => [controller.name, serviceAccount ?? ""]),
    ),
    server: { admission: admissionOf({}) },
    ...(transport && { transport }),
    components: ({ client, informers, server: { clock } }) => [
      new GarbageCollector({ client, informers, clock, log: silentLog, discovery }),
      new PodGarbageCollector({ client, informers, clock, log: silentLog, terminatedPodThreshold: 0 }),
    ],
  });
  const { client, until } = cluster;
  await client.create(Namespace, { metadata: { name: namespace } });
  await until(async () => (await client.find(ServiceAccount, { namespace, name: "default" })) !== undefined, 3000);
  return cluster;
}

const failures: readonly (() => Error)[] = [
  () => new ApiError({ code: 500, reason: "InternalError", message: "injected" }),
  () => new ApiError({ code: 409, reason: "Conflict", message: "injected" }),
  () => new ApiError({ code: 429, reason: "TooManyRequests", message: "injected", details: { retryAfterSeconds: 1 } }),
  () => new ConnectionLost("injected"),
];

/** Lets this share of requests fail: in all ways, before or after they are done, some after a long time; and cuts watches off. */
const failing =
  (share: number, random: Random): NonNullable<TestClusterOptions["transport"]> =>
  ({ server, clock }): Transport =>
  async (request) => {
    const failure = random.next() < share ? failures[Math.floor(random.next() * failures.length)] : undefined;
    const isDone = !failure || random.next() < 0.5;
    if (failure && random.next() < 0.2) await clock.sleep(30_000, request.signal);
    const response = isDone ? await server.request(request) : undefined;
    if (failure) {
      await release(response);
      throw failure();
    }
    return response?.type === "watch" ? { ...response, events: cut(response.events, random) } : response!;
  };

async function release(response: ApiResponse | undefined): Promise<void> {
  if (response?.type === "watch") await response.events[Symbol.asyncIterator]().return?.();
}

async function* cut<T>(events: AsyncIterable<T>, random: Random): AsyncGenerator<T> {
  for await (const batch of events) {
    yield batch;
    if (random.next() < 0.05) throw new ConnectionLost("injected");
  }
}

const labels = (app: string) => ({ app });
const sized = (name: string, image: string, replicas: number) => ({
  metadata: { namespace, name },
  spec: { replicas, selector: { matchLabels: labels(name) }, template: template(image, labels(name)) },
});
const stateful = (name: string, image: string, replicas: number) => {
  const { metadata, spec } = sized(name, image, replicas);
  return { metadata, spec: { ...spec, serviceName: name } };
};

/** Lets pods run and jobs end until all is as it was asked for. */
const converge = (cluster: TestCluster, image: string, ended: Map<string, number>, random: Random) =>
  cluster.until(async () => {
    const { client } = cluster;
    await endPods(cluster, (pod) => {
      if (!isOfJob(pod)) return undefined;
      const code = random.next() < 0.15 ? 1 : 0;
      ended.set(pod.metadata.uid ?? "", code);
      return code;
    });
    await runPods(cluster, isOfJob);
    const isRunning = async (app: string, count: number) => {
      const pods = (await client.list(Pod, { labelSelector: `app=${app}` })).items.filter(isActive);
      return pods.length === count && pods.every(({ spec }) => spec.containers[0]?.image === image);
    };
    const deployment = await client.get(Deployment, { namespace, name: "web" });
    const set = await client.get(ReplicaSet, { namespace, name: "plain" });
    const db = await client.get(StatefulSet, { namespace, name: "db" });
    const jobs = (await client.list(Job)).items;
    return (
      (await isRunning("web", 5)) &&
      (await isRunning("db", 3)) &&
      deployment.status.availableReplicas === 5 &&
      deployment.status.observedGeneration === deployment.metadata.generation &&
      set.status.availableReplicas === 4 &&
      db.status.availableReplicas === 3 &&
      jobs.every(({ status }) => status.completionTime !== undefined)
    );
  }, 6000);

for (const seed of [1, 2, 3])
  test(`with every fifth request failing and the clock set back and forth, everything arrives and comes to rest (${seed})`, async () => {
    const random = seededRandom(seed);
    let writes: string[] = [];
    await using cluster = await controlPlane((server) => {
      const through = failing(0.2, random)(server);
      return (request) => {
        if (isWrite(request))
          writes.push(`${request.user.name} ${request.verb} ${request.resource} ${request.name ?? ""}`);
        return through(request);
      };
    });
    const { client, server } = cluster;
    const ended = new Map<string, number>();
    const backoffLimit = 100;
    await client.create(Deployment, sized("web", "v1", 5));
    await client.create(ReplicaSet, sized("plain", "v1", 4));
    await client.create(StatefulSet, stateful("db", "v1", 3));
    const spec = { template: jobTemplate, completions: 10, parallelism: 4, backoffLimit };
    await client.create(Job, { metadata: { namespace, name: "plain" }, spec });
    await client.create(Job, {
      metadata: { namespace, name: "indexed" },
      spec: { ...spec, completionMode: "Indexed" },
    });
    await server.clock.advance(2000);
    server.clock.jumpTo(server.clock.now() + 5 * hourMs);
    await converge(cluster, "v1", ended, random);

    await client.patch(Deployment, { namespace, name: "web" }, "strategic", { spec: sized("web", "v2", 5).spec });
    await client.patch(StatefulSet, { namespace, name: "db" }, "strategic", {
      spec: { template: template("v2", labels("db")) },
    });
    await client.create(Job, { metadata: { namespace, name: "second" }, spec });
    await server.clock.advance(2000);
    server.clock.jumpTo(server.clock.now() - 3 * hourMs);
    await converge(cluster, "v2", ended, random);

    const jobs = (await client.list(Job)).items;
    const codes = [...ended.values()];
    const total = (count: (job: Job) => number) => jobs.reduce((sum, job) => sum + count(job), 0);
    assert.equal(
      total(({ status }) => status.failed ?? 0),
      codes.filter(Boolean).length,
      "failed pods are counted once",
    );
    assert.ok(total(({ status }) => status.succeeded ?? 0) >= 30);
    await server.clock.advance(120_000);
    writes = [];
    await server.clock.advance(600_000);
    assert.deepEqual(writes, []);
  });

/** Counts writes by what they are and by a minute's time, after the first so many seconds. */
function counting(after: number) {
  const writes = new Map<string, number>();
  let start: number | undefined;
  const transport: TestClusterOptions["transport"] =
    ({ server, clock }) =>
    (request) => {
      start ??= clock.elapsed();
      if (isWrite(request) && clock.elapsed() - start >= after) {
        const { verb, resource, subresource = "", name = "" } = request;
        // A pod has a new name each time.
        const what = `${verb} ${resource} ${subresource} ${resource === "pods" ? "" : name}`;
        writes.set(what, (writes.get(what) ?? 0) + 1);
      }
      return server.request(request);
    };
  return { writes, transport };
}

/** Acts whenever something may have changed, for so many seconds. */
async function fight({ server }: TestCluster, seconds: number, act: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < seconds * 10; i++) {
    await act().catch((error: unknown) => {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    });
    for (let j = 0; j < 5; j++) await turn();
    await server.clock.advance(100);
  }
}

const fights: Readonly<
  Record<string, { start(client: Client): Promise<unknown>; undo(client: Client): Promise<unknown> }>
> = {
  "who deletes the pods of a replica set": {
    start: (client) => client.create(ReplicaSet, sized("plain", "v1", 1)),
    async undo(client) {
      for (const { metadata } of (await client.list(Pod)).items)
        await client.delete(Pod, metadata, { graceSeconds: 0 });
    },
  },
  "who takes the labels from the pods of a replica set": {
    start: (client) => client.create(ReplicaSet, sized("plain", "v1", 1)),
    async undo(client) {
      for (const { metadata } of (await client.list(Pod, { labelSelector: "app=plain" })).items)
        await client.patch(Pod, metadata, "merge", { metadata: { labels: { app: "lost" } } });
    },
  },
  "who scales the replica set of a deployment down": {
    start: (client) => client.create(Deployment, sized("web", "v1", 1)),
    async undo(client) {
      for (const { metadata, spec } of (await client.list(ReplicaSet)).items)
        if (spec.replicas > 0) await client.patch(ReplicaSet, metadata, "merge", { spec: { replicas: 0 } });
    },
  },
  "who deletes the replica set of a deployment": {
    start: (client) => client.create(Deployment, sized("web", "v1", 1)),
    async undo(client) {
      for (const { metadata } of (await client.list(ReplicaSet)).items) await client.delete(ReplicaSet, metadata);
    },
  },
  "who deletes the pods of a stateful set": {
    start: (client) => client.create(StatefulSet, stateful("db", "v1", 1)),
    async undo(client) {
      for (const { metadata } of (await client.list(Pod)).items)
        await client.delete(Pod, metadata, { graceSeconds: 0 });
    },
  },
  "who deletes the pods of a job": {
    start: (client) =>
      client.create(Job, { metadata: { namespace, name: "sum" }, spec: { template: jobTemplate, backoffLimit: 1000 } }),
    async undo(client) {
      for (const { metadata } of (await client.list(Pod)).items)
        await client.delete(Pod, metadata, { graceSeconds: 0 });
    },
  },
  "who deletes the pods of a daemon set": {
    async start(client) {
      await client.create(Node, { metadata: { name: "n1" } });
      const { metadata, spec } = template("v1", labels("agent"));
      // Nobody tells that the node lives.
      const everywhere = { metadata, spec: { ...spec, tolerations: [{ operator: "Exists" as const }] } };
      await client.create(DaemonSet, {
        metadata: { namespace, name: "agent" },
        spec: { selector: { matchLabels: labels("agent") }, template: everywhere },
      });
    },
    async undo(client) {
      for (const { metadata } of (await client.list(Pod)).items)
        await client.delete(Pod, metadata, { graceSeconds: 0 });
    },
  },
  "who deletes the slices and endpoints of a service": {
    async start(client) {
      await client.create(Service, {
        metadata: { namespace, name: "web" },
        spec: { selector: labels("web"), ports: [{ port: 80 }] },
      });
    },
    async undo(client) {
      for (const { metadata } of (await client.list(EndpointSlice)).items) await client.delete(EndpointSlice, metadata);
      for (const { metadata } of (await client.list(Endpoints)).items) await client.delete(Endpoints, metadata);
    },
  },
  "who deletes what every namespace has": {
    start: async () => undefined,
    async undo(client) {
      await client.delete(ServiceAccount, { namespace, name: "default" });
      await client.delete(ConfigMap, { namespace, name: "kube-root-ca.crt" });
    },
  },
  "who empties the statuses of a budget and a quota": {
    async start(client) {
      await client.create(PodDisruptionBudget, {
        metadata: { namespace, name: "web" },
        spec: { minAvailable: 1, selector: { matchLabels: labels("web") } },
      });
      await client.create(ResourceQuota, { metadata: { namespace, name: "few" }, spec: { hard: { pods: "5" } } });
    },
    async undo(client) {
      const budget = await client.get(PodDisruptionBudget, { namespace, name: "web" });
      if (budget.status.observedGeneration !== undefined)
        await client.update(PodDisruptionBudget, { ...budget, status: {} as never }, "status");
      const quota = await client.get(ResourceQuota, { namespace, name: "few" });
      if (quota.status.hard !== undefined) await client.update(ResourceQuota, { ...quota, status: {} }, "status");
    },
  },
  "who deletes the jobs of a cron job": {
    start: (client) =>
      client.create(CronJob, {
        metadata: { namespace, name: "often" },
        spec: { schedule: "* * * * *", jobTemplate: { spec: { template: jobTemplate } } },
      }),
    async undo(client) {
      for (const { metadata } of (await client.list(Job)).items) await client.delete(Job, metadata);
    },
  },
  "who empties the status of a deployment": {
    start: (client) => client.create(Deployment, sized("web", "v1", 1)),
    async undo(client) {
      const web = await client.get(Deployment, { namespace, name: "web" });
      if (web.status.observedGeneration !== undefined)
        await client.update(Deployment, { ...web, status: {} }, "status");
    },
  },
};

for (const [name, { start, undo }] of Object.entries(fights))
  test(`somebody ${name} meets no more than two writes a second`, async () => {
    const settled = 120;
    const seconds = 60;
    const { writes, transport } = counting(settled * 1000);
    await using cluster = await controlPlane(transport);
    await start(cluster.client);
    await fight(cluster, settled + seconds, () => undo(cluster.client));
    assert.ok(writes.size > 0, "nobody wrote anything");
    for (const [what, count] of writes) assert.ok(count <= 2 * seconds + 5, `${what}: ${count} in ${seconds} s`);
  });

test("owners of the same labels leave each other's pods alone, and come to rest", async () => {
  const { writes, transport } = counting(120_000);
  await using cluster = await controlPlane(transport);
  const { client, server } = cluster;
  const shared = (name: string, replicas: number) => ({
    metadata: { namespace, name },
    spec: { replicas, selector: { matchLabels: labels("shared") }, template: template("v1", labels("shared")) },
  });
  await client.create(Pod, {
    metadata: { namespace, name: "orphan", labels: labels("shared") },
    spec: template("v1", {}).spec,
  });
  await client.create(ReplicaSet, shared("a", 3));
  await client.create(ReplicaSet, shared("b", 2));
  await client.create(Deployment, shared("c", 2));
  await client.create(Deployment, shared("d", 1));
  for (let i = 0; i < 300; i++) {
    await runPods(cluster);
    await server.clock.advance(1000);
  }
  const owners = (await client.list(Pod)).items
    .filter(isActive)
    .map(({ metadata }) => metadata.ownerReferences?.[0]?.name[0]);
  assert.deepEqual(owners.sort(), ["a", "a", "a", "b", "b", "c", "c", "d"]);
  assert.deepEqual(Object.fromEntries(writes), {});
});

test("a wish that cannot be granted is told, and tried again ever more seldom", async () => {
  const { writes, transport } = counting(60_000);
  await using cluster = await controlPlane(transport);
  const { client, server, until } = cluster;
  await client.create(ResourceQuota, { metadata: { namespace, name: "none" }, spec: { hard: { pods: "0" } } });
  await until(async () => {
    const quota = await client.get(ResourceQuota, { namespace, name: "none" });
    if (quota.status.hard === undefined)
      await client.update(ResourceQuota, { ...quota, status: { hard: { pods: "0" }, used: { pods: "0" } } }, "status");
    return quota.status.hard !== undefined;
  });
  await client.create(Deployment, sized("web", "v1", 20));
  await client.create(ReplicaSet, sized("plain", "v1", 20));
  await client.create(StatefulSet, stateful("db", "v1", 3));
  await client.create(Job, { metadata: { namespace, name: "sum" }, spec: { template: jobTemplate, parallelism: 20 } });
  const cron = {
    metadata: { namespace, name: "never" },
    spec: { schedule: "0 0 31 2 *", jobTemplate: { spec: { template: jobTemplate } } },
  };
  await client.create(CronJob, cron);
  for (let i = 0; i < 660; i++) await server.clock.advance(1000);
  const events = (await client.list(Event)).items;
  const told = (kind: string, reason: string, words: RegExp) =>
    assert.ok(
      events.some(
        (event) => event.involvedObject.kind === kind && event.reason === reason && words.test(event.message ?? ""),
      ),
      `no ${reason} of ${kind}`,
    );
  for (const kind of ["ReplicaSet", "StatefulSet", "Job"]) told(kind, "FailedCreate", /exceeded quota: none/);
  told("CronJob", "InvalidSchedule", /^invalid schedule: 0 0 31 2 \* : /);
  const { status } = await client.get(Deployment, { namespace, name: "web" });
  assert.match(status.conditions?.find(({ type }) => type === "ReplicaFailure")?.message ?? "", /exceeded quota: none/);
  for (const [what, count] of writes) assert.ok(count <= 60, `${what}: ${count} in ten minutes`);
});
