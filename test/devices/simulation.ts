// Pods with claims come and go while schedulers are killed at any write. An observer of every change of a claim says whether a device ever
// had two owners.
import assert from "node:assert/strict";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { testUser } from "#apiserver/testing.ts";
import { ApiError } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { type Random, seededRandom } from "#base/random.ts";
import { supervise } from "#base/supervise.ts";
import { Client, type Transport } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { claimCleanupController } from "#controllers/resourceclaim/claim-cleanup.ts";
import { podResourceClaimController } from "#controllers/resourceclaim/pod-claims.ts";
import { devicesTaken, resultsOf } from "#rules/devices/resource-claims.ts";
import { Scheduler } from "#scheduler/scheduler.ts";
import { type TestCluster, testCluster } from "../controllers/cluster.ts";
import { haveClass, haveSlice, haveTemplate, namespace, plainDevices, wanting, wantingExtended } from "./objects.ts";

export interface SimulationOptions {
  readonly claims: number;
  readonly nodes: number;
  readonly devicesPerNode: number;
  readonly seed: number;
}

export interface SimulationResult {
  readonly placed: number;
  readonly kills: number;
  readonly allocations: number;
  readonly mostAtOnce: number;
}

const allocatable = { cpu: "100", memory: "100Gi", pods: "500" };
const died = () => new ApiError({ code: 503, reason: "ServiceUnavailable", message: "the scheduler is dead" });

/** Watches who has which device. */
class DeviceObserver {
  readonly owners = new Map<string, string>();
  readonly #devices = new Map<string, readonly string[]>();
  /** What must never be. */
  readonly doubles: string[] = [];
  allocations = 0;
  mostAtOnce = 0;

  follow(informers: Informers): void {
    informers.of(ResourceClaim).onChange(({ old, object }) => {
      const uid = (object ?? old)?.metadata.uid ?? "";
      const before = this.#devices.get(uid) ?? [];
      const now = object && object.metadata.uid === uid ? devicesTaken(resultsOf(object)) : [];
      for (const id of before) if (!now.includes(id)) this.owners.delete(id);
      for (const id of now) {
        const owner = this.owners.get(id);
        if (owner !== undefined && owner !== uid) this.doubles.push(`${id} was given to ${uid} while ${owner} had it`);
        if (owner === undefined) this.allocations++;
        this.owners.set(id, uid);
      }
      this.#devices.set(uid, now);
      this.mostAtOnce = Math.max(this.mostAtOnce, this.owners.size);
    });
  }
}

/** A scheduler that dies at a write of its life: before the server sees it, or after. */
class MortalScheduler {
  isDead = false;
  readonly #stop = new AbortController();
  readonly #outstanding = new Set<Promise<unknown>>();
  readonly #done: Promise<void>;

  constructor(cluster: TestCluster, random: Random, writesToLive: number) {
    const { server } = cluster;
    let writes = 0;
    const transport: Transport = async (request) => {
      if (this.isDead) throw died();
      const isWrite = !["get", "list", "watch"].includes(request.verb);
      const isLast = isWrite && ++writes >= writesToLive;
      if (isLast) this.isDead = true;
      if (isLast && random.below(2) === 0) throw died();
      const answer = server.server.request(request);
      if (isWrite) {
        const settled = Promise.resolve(answer)
          .catch(() => undefined)
          .finally(() => this.#outstanding.delete(settled));
        this.#outstanding.add(settled);
      }
      const answered = await answer;
      if (isLast || (isWrite && this.isDead)) throw died(); // it happened, but nobody hears of it
      return answered;
    };
    const client = new Client({ transport, user: testUser, userAgent: "scheduler/1", signal: this.#stop.signal });
    const context = { client, clock: server.clock, random: seededRandom(random.below(1e9)), log: silentLog };
    const informers = new Informers(context);
    const scheduler = new Scheduler({ ...context, informers });
    this.#done = supervise([informers, scheduler], this.#stop.signal);
  }

  /** What it has sent arrives before another takes over, as within the time of a lease. */
  async end(): Promise<void> {
    this.isDead = true;
    this.#stop.abort(new Error("killed"));
    await this.#done;
    while (this.#outstanding.size > 0) await Promise.all(this.#outstanding);
  }
}

export async function simulate({ claims, nodes, devicesPerNode, seed }: SimulationOptions): Promise<SimulationResult> {
  const random = seededRandom(seed);
  const observer = new DeviceObserver();
  await using cluster = await testCluster({
    controllers: [podResourceClaimController, claimCleanupController],
    components: ({ informers }) => {
      observer.follow(informers);
      return [];
    },
  });
  const { client } = cluster;
  await haveClass(client);
  await haveTemplate(client, "one");
  await haveTemplate(client, "two", { count: 2 });
  for (let i = 0; i < nodes; i++) {
    const name = `node-${i}`;
    await client.create(Node, { metadata: { name }, status: { allocatable, capacity: allocatable } });
    await haveSlice(client, name, plainDevices(devicesPerNode));
  }
  const wave = Math.floor((nodes * devicesPerNode) / 2);
  let [made, placed, kills] = [0, 0, 0];
  let scheduler = new MortalScheduler(cluster, random, 1 + random.below(40));
  const living = new Set<string>();
  try {
    while (placed < claims) {
      for (; living.size < wave && made < claims; made++) {
        const name = `pod-${made}`;
        const isTwo = random.below(4) === 0;
        const isExtended = random.below(3) === 0;
        const pod = isExtended ? wantingExtended(isTwo ? 2 : 1) : wanting({ template: isTwo ? "two" : "one" });
        await client.create(Pod, { ...pod, metadata: { name, namespace } });
        living.add(name);
      }
      await cluster.until(async () => {
        if (scheduler.isDead) {
          await scheduler.end();
          kills++;
          scheduler = new MortalScheduler(cluster, random, 1 + random.below(40));
        }
        assert.deepEqual(observer.doubles, []);
        const pods = (await client.list(Pod)).items;
        return pods.some(({ spec }) => spec.nodeName);
      }, 5000);
      for (const { metadata, spec } of (await client.list(Pod)).items) {
        if (!spec.nodeName) continue;
        placed++;
        living.delete(metadata.name ?? "");
        const { namespace: at, name } = metadata;
        // Some end by themselves, the others are deleted; both give their devices back.
        if (random.below(2) === 0)
          await client.patch(
            Pod,
            { namespace: at, name },
            "merge",
            { status: { phase: "Succeeded" } },
            { subresource: "status" },
          );
        await client.delete(Pod, { namespace: at, name }, { graceSeconds: 0 });
        for (const claim of (await client.list(ResourceClaim)).items)
          if (
            claim.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) &&
            !claim.metadata.deletionTimestamp
          )
            await client.delete(ResourceClaim, claim.metadata).catch(ignoreGone);
      }
    }
    await cluster.until(async () => (await client.list(ResourceClaim)).items.length === 0, 5000);
  } finally {
    await scheduler.end();
  }
  assert.deepEqual(observer.doubles, []);
  assert.equal(observer.owners.size, 0, "all devices are given back");
  const { allocations, mostAtOnce } = observer;
  return { placed, kills, allocations, mostAtOnce };
}

/** The cleanup may have been faster. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof ApiError) || error.code !== 404) throw error;
}
