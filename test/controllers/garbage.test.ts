import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { ApiError } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import type { Controller } from "#client/controller.ts";
import { fixedDiscovery } from "#client/discovery.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { deploymentController } from "../../src/controllers/deployment/deployment.ts";
import { GarbageCollector } from "../../src/controllers/garbage/collector.ts";
import { replicaSetController } from "../../src/controllers/replicaset.ts";
import { type TestCluster, type TestClusterOptions, testCluster } from "./cluster.ts";

type Propagation = "Orphan" | "Background" | "Foreground";
const namespace = "default";

interface Collected {
  readonly cluster: TestCluster;
  /** Lets the collector begin. */
  start(): void;
}

/** A cluster with a garbage collector for these kinds that begins when told to. */
async function collected(
  kinds: readonly AnyKind[],
  controllers: readonly Controller<AnyKind>[] = [],
  transport?: TestClusterOptions["transport"],
): Promise<Collected> {
  const gate = Promise.withResolvers<void>();
  const cluster = await testCluster({
    controllers,
    ...(transport && { transport }),
    components: ({ client, informers, server }) => {
      const discovery = fixedDiscovery(kinds);
      const collector = new GarbageCollector({ client, informers, discovery, clock: server.clock, log: silentLog });
      return [
        {
          name: "collector",
          async run(signal) {
            signal.addEventListener("abort", () => gate.resolve());
            await gate.promise;
            await collector.run(signal);
          },
        },
      ];
    },
  });
  return { cluster, start: () => gate.resolve() };
}

const reference = ({ apiVersion, kind, metadata }: ApiObject, block = true) => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
  blockOwnerDeletion: block,
});

interface Thing {
  readonly owners: readonly number[];
  /** Names an owner that never was. */
  readonly hasGhost: boolean;
  readonly blocks: boolean;
}

/** Who names whom as an owner. What has only owners that are not there goes, until nothing goes any more. */
class Model {
  readonly owners = new Map<number, Set<number>>();

  constructor(things: readonly Thing[]) {
    for (const [i, { owners, hasGhost }] of things.entries())
      this.owners.set(i, new Set([...owners.map((owner) => owner % things.length), ...(hasGhost ? [-1] : [])]));
    this.settle();
  }

  settle(): void {
    for (let wasCalm = false; !wasCalm; ) {
      wasCalm = true;
      for (const [i, owners] of this.owners) {
        if (owners.size === 0 || [...owners].some((owner) => this.owners.has(owner))) continue;
        this.owners.delete(i);
        wasCalm = false;
      }
    }
    for (const owners of this.owners.values())
      for (const owner of owners) if (!this.owners.has(owner)) owners.delete(owner);
  }

  delete(victim: number, propagation: Propagation): void {
    this.owners.delete(victim);
    if (propagation === "Orphan") for (const owners of this.owners.values()) owners.delete(victim);
    this.settle();
  }

  text(): string {
    return [...this.owners].map(([i, owners]) => `${i}<${[...owners].sort().join()}`).join(" ");
  }
}

const kindOf = (i: number) => (i % 2 === 0 ? ConfigMap : Secret);
const nameOf = (i: number) => ({ namespace, name: `t${i}` });

/** Makes all things, then their references: there may be circles. */
async function make({ client }: TestCluster, things: readonly Thing[]): Promise<readonly ApiObject[]> {
  const made: ApiObject[] = [];
  for (const i of things.keys()) made.push(await client.create(kindOf(i), { metadata: nameOf(i) }));
  for (const [i, { owners, hasGhost, blocks }] of things.entries()) {
    const unique = [...new Set(owners.map((owner) => owner % things.length))];
    const ghost = { apiVersion: "v1", kind: "Secret", name: "ghost", uid: "00000000-0000-4000-8000-000000000000" };
    const ownerReferences = [...unique.map((owner) => reference(made[owner]!, blocks)), ...(hasGhost ? [ghost] : [])];
    if (ownerReferences.length > 0)
      await client.patch(kindOf(i), nameOf(i), "merge", { metadata: { ownerReferences } });
  }
  return made;
}

async function seen({ client }: TestCluster, things: readonly Thing[]): Promise<string> {
  const lines: string[] = [];
  for (const i of things.keys()) {
    const object = await client.find(kindOf(i), nameOf(i));
    const owners = object?.metadata.ownerReferences?.map(({ name }) => Number(name.slice(1))) ?? [];
    if (object) lines.push(`${i}<${owners.sort().join()}`);
  }
  return lines.join(" ");
}

test("random graphs of owners end as a plain model says, whichever way things are deleted, with every tenth request failing", async () => {
  const thing = fc.record({
    owners: fc.array(fc.nat(9), { maxLength: 3 }),
    hasGhost: fc.boolean(),
    blocks: fc.boolean(),
  });
  const deletion = fc.tuple(fc.nat(9), fc.constantFrom<Propagation>("Orphan", "Background", "Foreground"));
  await fc.assert(
    fc.asyncProperty(
      fc.array(thing, { minLength: 1, maxLength: 9 }),
      fc.array(deletion, { maxLength: 3 }),
      async (things, deletions) => {
        const random = seededRandom(5);
        const { cluster, start } = await collected([ConfigMap, Secret], [], ({ server }) => async (request) => {
          if (random.next() < 0.1) throw new ApiError({ code: 500, reason: "InternalError", message: "injected" });
          return server.request(request);
        });
        await using _ = cluster;
        await make(cluster, things);
        const model = new Model(things);
        start();
        const agrees = async () => (await seen(cluster, things)) === model.text();
        await cluster.until(agrees);
        for (const [choice, propagation] of deletions) {
          const left = [...model.owners.keys()];
          const victim = left[choice % left.length];
          if (victim === undefined) break;
          model.delete(victim, propagation);
          await cluster.client.delete(kindOf(victim), nameOf(victim), { propagation });
          await cluster.until(agrees);
        }
        await cluster.server.clock.advance(60_000);
        assert.ok(await agrees(), "it went on");
      },
    ),
    { numRuns: 40 },
  );
});

const web = {
  metadata: { namespace, name: "web" },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "i" }] } },
  },
};
const workload = [deploymentController, replicaSetController];
const kinds = [Deployment, ReplicaSet, Pod];

async function counts({ client }: TestCluster): Promise<string> {
  const sizes = await Promise.all(kinds.map(async (kind) => (await client.list(kind)).items.length));
  return sizes.join();
}

test("a deployment takes its replica sets and pods with it, in the foreground it goes last", async () => {
  const held = structuredClone(web);
  Object.assign(held.spec.template.metadata, { finalizers: ["example.com/hold"] });
  for (const [propagation, meanwhile] of [
    ["Background", "0,0,3"],
    ["Foreground", "1,1,3"],
  ] as const) {
    const { cluster, start } = await collected(kinds, workload);
    await using _ = cluster;
    const { client, until, server } = cluster;
    start();
    await client.create(Deployment, held);
    await until(async () => (await counts(cluster)) === "1,1,3");
    await client.delete(Deployment, web.metadata, { propagation });
    const pods = async () => (await client.list(Pod)).items;
    await until(async () => (await pods()).every(({ metadata }) => metadata.deletionTimestamp !== undefined));
    await server.clock.advance(1000);
    assert.equal(await counts(cluster), meanwhile);
    for (const { metadata } of await pods())
      await client.patch(Pod, metadata, "merge", { metadata: { finalizers: null } });
    await until(async () => (await counts(cluster)) === "0,0,0");
  }
});

test("an orphaned replica set keeps its pods, and a new deployment adopts it", async () => {
  const { cluster, start } = await collected(kinds, workload);
  await using _ = cluster;
  const { client, until } = cluster;
  start();
  await client.create(Deployment, web);
  await until(async () => (await counts(cluster)) === "1,1,3");
  await client.delete(Deployment, web.metadata, { propagation: "Orphan" });
  await until(async () => (await counts(cluster)) === "0,1,3");
  const owners = async () => (await client.list(ReplicaSet)).items[0]?.metadata.ownerReferences;
  assert.equal(await owners(), undefined);
  const again = await client.create(Deployment, web);
  await until(async () => (await owners())?.[0]?.uid === again.metadata.uid);
  assert.equal(await counts(cluster), "1,1,3");
});

test("an owner in another namespace is none", async () => {
  const { cluster, start } = await collected([ConfigMap, Secret]);
  await using _ = cluster;
  const { client, until } = cluster;
  const owner = await client.create(ConfigMap, { metadata: { namespace: "other", name: "a" } });
  await client.create(Secret, { metadata: { namespace, name: "b", ownerReferences: [reference(owner)] } });
  start();
  await until(async () => (await client.find(Secret, { namespace, name: "b" })) === undefined);
  assert.ok(await client.find(ConfigMap, { namespace: "other", name: "a" }));
});

test("what is owned by a kind that nobody knows stays", async () => {
  const { cluster, start } = await collected([Secret]);
  await using _ = cluster;
  const { client, server } = cluster;
  const owner = { apiVersion: "example.com/v1", kind: "Widget", name: "w", uid: "1" };
  await client.create(Secret, { metadata: { namespace, name: "b", ownerReferences: [owner] } });
  start();
  await server.clock.advance(60_000);
  assert.ok(await client.find(Secret, { namespace, name: "b" }));
});
