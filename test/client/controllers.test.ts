import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Event } from "#api/core/v1/event.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { type TestServer, testServer, testUser } from "#apiserver/testing.ts";
import { turn } from "#base/breathe.ts";
import { ApiError } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client, type Transport } from "#client/client.ts";
import { type Controller, controller, TerminalError } from "#client/controller.ts";
import { runControllers } from "#client/run-controllers.ts";
import { controlledBy } from "#rules/owners.ts";
import type { AnyKind } from "#schema/kind.ts";
import { replicaSet, sampleReplicaSets } from "./sample.ts";

const clientOf = (server: TestServer, transport: Transport = server.server.request): Client =>
  new Client({ transport, user: testUser, userAgent: "test/1", signal: new AbortController().signal });

async function running(
  server: TestServer,
  controllers: readonly Controller<AnyKind>[],
  transport: Transport = server.server.request,
): Promise<AsyncDisposable> {
  const stop = new AbortController();
  const done = runControllers(controllers, {
    client: clientOf(server, transport),
    clock: server.clock,
    random: seededRandom(7),
    log: silentLog,
  }).run(stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test is over"));
      await done;
    },
  };
}

/** Lets everything that is ready happen, until `isDone` or nothing more can be expected. */
async function settle(isDone: () => Promise<boolean>, server: TestServer, steps = 200): Promise<void> {
  for (let i = 0; i < steps; i++) {
    for (let j = 0; j < 5; j++) await turn();
    if (await isDone()) return;
    await server.clock.advance(100);
  }
  assert.fail("it did not come to that");
}

test("a controller makes what is missing, removes what is too much, and says why", async () => {
  await using server = await testServer();
  const causes: string[] = [];
  const client = clientOf(server);
  await using _ = await running(server, [sampleReplicaSets], (request) => {
    if (request.verb === "create" && request.resource === "pods") causes.push(request.because ?? "");
    return server.server.request(request);
  });
  const rs = await client.create(ReplicaSet, replicaSet("web", 5));
  const alive = async () =>
    (await client.list(Pod)).items.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length;
  await settle(async () => (await alive()) === 5, server);
  assert.deepEqual(causes, Array(5).fill(`replicasets.apps/default/web@${rs.metadata.resourceVersion}`));
  await settle(async () => (await client.get(ReplicaSet, rs.metadata)).status.replicas === 5, server);

  const now = await client.get(ReplicaSet, rs.metadata);
  await client.update(ReplicaSet, { ...now, spec: { ...now.spec, replicas: 2 } });
  await settle(async () => (await alive()) === 2, server);
  const [victim] = (await client.list(Pod)).items;
  await client.delete(Pod, victim!.metadata);
  await settle(async () => (await alive()) === 2 && causes.length === 6, server);
  await settle(async () => (await client.list(Event)).items.length === 6, server);
  assert.equal((await client.list(Event)).items[0]?.source.component, "replicaset-controller");
});

test("no object is in two workers, and none is reconciled before its writes are seen", async () => {
  await using server = await testServer();
  const client = clientOf(server);
  const inside = new Set<string>();
  let created = 0;
  const strict = controller({
    ...sampleReplicaSets,
    async reconcile(rs, context) {
      assert.ok(!inside.has(rs.metadata.name), "two workers have one object");
      inside.add(rs.metadata.name);
      await turn();
      await sampleReplicaSets.reconcile(rs, context);
      inside.delete(rs.metadata.name);
    },
  });
  await using _ = await running(server, [strict], async (request) => {
    const response = await server.server.request(request);
    if (request.verb === "create" && request.resource === "pods") created++;
    if (request.verb !== "watch" || response.type !== "watch") return response;
    const { events } = response;
    const late = async function* () {
      for await (const batch of events) {
        for (let i = 0; i < 20; i++) await turn(); // the cache lags far behind the writes
        yield batch;
      }
    };
    return { ...response, events: late() };
  });
  for (let i = 0; i < 10; i++) await client.create(ReplicaSet, replicaSet(`web-${i}`, 4));
  await settle(async () => (await client.list(ReplicaSet)).items.every(({ status }) => status.replicas === 4), server);
  assert.equal(created, 40);
});

test("a deletion that is answered without a revision is waited for, too", async () => {
  await using server = await testServer();
  const client = clientOf(server);
  const failures: unknown[] = [];
  const deletes = controller({
    name: "deletes",
    for: ReplicaSet,
    owns: [ConfigMap],
    async reconcile(rs, { client: own, cache }) {
      for (const { metadata } of cache.owned(ConfigMap, rs))
        await own.delete(ConfigMap, metadata).catch((error) => failures.push(error));
      return { afterMs: 1 }; // at once again, whatever the cache knows by then
    },
  });
  const rs = await client.create(ReplicaSet, replicaSet("web", 0));
  await using _ = await running(server, [deletes], async (request) => {
    const response = await server.server.request(request);
    if (response.type !== "watch" || request.resource !== "configmaps") return response;
    const { events } = response;
    const late = async function* () {
      for await (const batch of events) {
        await server.clock.sleep(50, request.signal);
        yield batch;
      }
    };
    return { ...response, events: late() };
  });
  for (let i = 0; i < 5; i++) {
    const metadata = { name: `c${i}`, namespace: "default", ownerReferences: [controlledBy(ReplicaSet, rs)] };
    await client.create(ConfigMap, { metadata });
  }
  await settle(async () => (await client.list(ConfigMap)).items.length === 0, server);
  await server.clock.advance(1000);
  assert.deepEqual(failures, []);
});

test("with every fifth request failing it still converges, and does not spin", async () => {
  await using server = await testServer();
  const client = clientOf(server);
  const random = seededRandom(3);
  let requests = 0;
  const failing: Transport = async (request) => {
    if (request.resource !== "events") requests++;
    if (random.next() < 0.1) throw new ApiError({ code: 500, reason: "InternalError", message: "injected" });
    const response = await server.server.request(request);
    // half of the failures happen after the fact: the write is done, its answer is lost
    if (random.next() < 0.1) throw new ApiError({ code: 503, reason: "ServiceUnavailable", message: "injected" });
    return response;
  };
  await using _ = await running(server, [sampleReplicaSets], failing);
  for (let i = 0; i < 10; i++) await client.create(ReplicaSet, replicaSet(`web-${i}`, 8));
  const alive = async () =>
    (await client.list(Pod)).items.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length;
  const settled = async () =>
    (await alive()) === 80 && (await client.list(ReplicaSet)).items.every(({ status }) => status.replicas === 8);
  await settle(settled, server, 2000);
  const before = requests;
  await server.clock.advance(60_000);
  assert.equal(await alive(), 80);
  assert.ok(requests - before < 20, `${requests - before} requests in a minute in which nothing changed`);
});

test("two controllers that undo each other's work are slowed to two writes a second each", async () => {
  await using server = await testServer();
  const client = clientOf(server);
  let writes = 0;
  const scaler = (name: string, replicas: number) =>
    controller({
      name,
      for: ReplicaSet,
      async reconcile(rs, { client: own }) {
        if (rs.spec.replicas === replicas) return;
        await own.update(ReplicaSet, { ...rs, spec: { ...rs.spec, replicas } });
        writes++;
      },
    });
  await using _ = await running(server, [scaler("a", 1), scaler("b", 2)]);
  await client.create(ReplicaSet, replicaSet("web", 0));
  for (let i = 0; i < 400; i++) await server.clock.advance(50);
  const before = writes;
  for (let i = 0; i < 400; i++) await server.clock.advance(50);
  assert.ok(writes - before <= 2 * 2 * 20 + 2, `${writes - before} writes in 20 s`);
});

test("a reconcile that throws is tried again later and later, one that gives up is not", async () => {
  await using server = await testServer();
  const client = clientOf(server);
  const tries: Record<string, number> = {};
  const stubborn = controller({
    name: "stubborn",
    for: ReplicaSet,
    async reconcile({ metadata }) {
      tries[metadata.name] = (tries[metadata.name] ?? 0) + 1;
      if (metadata.name === "never") throw new TerminalError("there is no use");
      if (metadata.name === "again") throw new Error("not now");
      return { afterMs: 10_000 };
    },
  });
  await using _ = await running(server, [stubborn]);
  for (const name of ["never", "again", "regular"]) await client.create(ReplicaSet, replicaSet(name, 1));
  for (let i = 0; i < 60; i++) await server.clock.advance(1000);
  assert.deepEqual(tries, { never: 1, again: 14, regular: 7 });
});

test("what a controller does not say it reads, it cannot read", async () => {
  await using server = await testServer();
  let error: unknown;
  const careless = controller({
    name: "careless",
    for: ReplicaSet,
    async reconcile(_rs, { cache }) {
      try {
        cache.list(Pod);
      } catch (caught) {
        error = caught;
      }
    },
  });
  await using _ = await running(server, [careless]);
  await clientOf(server).create(ReplicaSet, replicaSet("web", 1));
  await settle(async () => error !== undefined, server);
  assert.match(String(error), /controller careless reads pods without saying so/);
});

test("a controller that batches looks once at many changes of others, and at once when it is asked for something else", async () => {
  await using server = await testServer();
  const client = clientOf(server);
  const looks: number[] = [];
  const batching = controller({
    name: "batching",
    for: ReplicaSet,
    owns: [Pod],
    batchMs: 1000,
    async reconcile() {
      looks.push(server.clock.now());
    },
  });
  await using _ = await running(server, [batching]);
  const rs = await client.create(ReplicaSet, replicaSet("web", 2));
  await settle(async () => looks.length === 1, server);
  const ownerReferences = [controlledBy(ReplicaSet, rs)];
  const start = server.clock.now();
  for (const name of ["a", "b", "c"]) {
    const metadata = { name, namespace: "default", ownerReferences };
    await client.create(Pod, { metadata, spec: replicaSet("web", 0).spec.template.spec });
    await server.clock.advance(300);
  }
  assert.equal(looks.length, 1);
  await server.clock.advance(2000);
  assert.deepEqual(looks.slice(1), [start + 1000]);
  await client.patch(ReplicaSet, rs.metadata, "merge", { spec: { replicas: 3 } });
  await settle(async () => looks.length === 3, server, 2);
});
