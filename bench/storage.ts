// Claims: from a claim and a pod that are created to a claim that is bound, with the provisioner that comes with the cluster; and pods
// with volumes through the scheduler, in processor time on 5,000 nodes. KNARR_BENCH_PART=claims|bound|chosen measures only that.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { inBatches } from "#base/collections.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import type { Client } from "#client/client.ts";
import { runControllers } from "#client/run-controllers.ts";
import { claimBinder } from "#controllers/volumes/claim-binder.ts";
import { volumeBinder } from "#controllers/volumes/volume-binder.ts";
import { LocalCluster } from "./control-plane/local-cluster.ts";
import { inLanes, type Report } from "./figure.ts";
import { processorMs, start } from "./scheduler.ts";

const namespace = "default";
const accessModes = ["ReadWriteOnce" as const];
const resources = { requests: { storage: "1Gi" } };
/** Upstream's own floors for such pods, in pods per second (scheduler_perf: SchedulingInTreePVs). */
const upstreamFloor = 90;

export async function run(report: Report): Promise<void> {
  const parts = { claims, bound, chosen };
  const only = process.env.KNARR_BENCH_PART;
  for (const [name, part] of Object.entries(parts)) if (!only || name === only) await part(report);
}

const podWith = (i: number) => ({
  metadata: { namespace, name: `pod-${i}` },
  spec: {
    containers: [{ name: "c", image: "i" }],
    volumes: [{ name: "v", persistentVolumeClaim: { claimName: `claim-${i}` } }],
  },
});

/** Over HTTPS, as a person starts the cluster, the store on disk. */
async function claims(report: Report): Promise<void> {
  const count = 1_000;
  const cluster = await LocalCluster.up("--nodes=20");
  try {
    const client = await cluster.client();
    const done = new Set<string>();
    const stop = new AbortController();
    const { resourceVersion } = await client.list(PersistentVolumeClaim, { namespace });
    const events = await client.watch(PersistentVolumeClaim, { namespace, resourceVersion, signal: stop.signal });
    const [begun, cpuBefore] = [performance.now(), cluster.cpuMs()];
    const all = (async () => {
      for await (const batch of events) {
        for (const { object } of batch) if (object.status?.phase === "Bound") done.add(object.metadata.name);
        if (done.size === count) return performance.now() - begun;
      }
      throw new Error("the watch ended early");
    })();
    const made = inLanes(count, async (i) => {
      const metadata = { namespace, name: `claim-${i}` };
      await client.create(PersistentVolumeClaim, { metadata, spec: { accessModes, resources } });
      await client.create(Pod, podWith(i));
    });
    const [ms] = await Promise.all([all, made]);
    stop.abort(new Error("done"));
    report({
      name: "1,000 claims with pods: created to all bound, with the local provisioner",
      value: count / (ms / 1000),
      unit: "claims/s",
      goal: { atLeast: 100 },
    });
    // Others on the machine do not count here.
    report({
      name: "the same per second of the cluster's processor time",
      value: count / ((cluster.cpuMs() - cpuBefore) / 1000),
      unit: "claims/s",
      goal: { atLeast: 100 },
    });
  } finally {
    await cluster.down();
  }
}

const pods = 1_000;

/** Pods whose claims have their volumes already. */
async function bound(report: Report): Promise<void> {
  await using cluster = await start();
  await have(cluster.client, "isBound");
  const before = processorMs();
  cluster.schedule();
  await cluster.until(() => cluster.bound() === pods);
  const value = (pods * 1000) / (processorMs() - before);
  const name = "pods with bound volumes on 5,000 nodes, bound";
  report({ name, value, unit: "pods/s", goal: { atLeast: 1.5 * upstreamFloor } });
}

/** Pods for which the scheduler chooses among 1,000 volumes, each of which only one node reaches; the binder does its part. */
async function chosen(report: Report): Promise<void> {
  await using cluster = await start();
  const { client } = cluster;
  await client.create(StorageClass, {
    metadata: { name: "late" },
    provisioner: "kubernetes.io/no-provisioner",
    volumeBindingMode: "WaitForFirstConsumer",
  });
  await have(client, "isFree");
  const stop = new AbortController();
  const binder = runControllers([claimBinder(), volumeBinder], {
    client,
    clock: cluster.clock,
    random: seededRandom(1),
    log: silentLog,
  }).run(stop.signal);
  const before = processorMs();
  cluster.schedule();
  while (cluster.bound() < pods) {
    await cluster.until(() => true);
    await cluster.clock.advance(10);
  }
  const value = (pods * 1000) / (processorMs() - before);
  stop.abort(new Error("the measurement is over"));
  await binder;
  const name = "pods with volumes of single nodes, chosen and bound, on 5,000 nodes";
  report({ name, value, unit: "pods/s", goal: { atLeast: 1.5 * upstreamFloor } });
}

async function have(client: Client, how: "isBound" | "isFree"): Promise<void> {
  const storageClassName = how === "isBound" ? "" : "late";
  await inBatches(32, Array(pods).keys(), async (i) => {
    const annotations = how === "isBound" ? { "pv.kubernetes.io/bind-completed": "yes" } : {};
    const claim = await client.create(PersistentVolumeClaim, {
      metadata: { namespace, name: `claim-${i}`, annotations },
      spec: { accessModes, resources, storageClassName, ...(how === "isBound" && { volumeName: `volume-${i}` }) },
    });
    const { apiVersion, kind, metadata } = claim;
    const volume = await client.create(PersistentVolume, {
      metadata: { name: `volume-${i}` },
      spec: {
        accessModes,
        capacity: resources.requests,
        storageClassName,
        ...(how === "isBound"
          ? {
              csi: { driver: "example.com", volumeHandle: `v-${i}` },
              claimRef: { apiVersion, kind, namespace, name: metadata.name, uid: metadata.uid },
            }
          : { local: { path: "/v" }, nodeAffinity: onlyFrom(`node-${i}`) }),
      },
    });
    const volumePhase = how === "isBound" ? "Bound" : "Available";
    await client.update(PersistentVolume, { ...volume, status: { ...volume.status, phase: volumePhase } }, "status");
    if (how === "isBound")
      await client.update(
        PersistentVolumeClaim,
        { ...claim, status: { phase: "Bound", accessModes, capacity: resources.requests } },
        "status",
      );
    await client.create(Pod, podWith(i));
  });
}

const onlyFrom = (node: string) => ({
  required: {
    nodeSelectorTerms: [
      { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In" as const, values: [node] }] },
    ],
  },
});
