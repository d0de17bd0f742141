// The process of a cluster killed while pods with volumes of a storage driver come and go: real nodes, all controllers, and a driver that lives on.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import { seededRandom } from "#base/random.ts";
import type { Client } from "#client/client.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { Machine } from "../cluster/machine.ts";
import { kill, patienceMs, RealCluster, untilNone } from "../cluster/real-cluster.ts";
import { type DriverCall, TestDriver } from "./driver.ts";
import { Sidecars } from "./sidecars.ts";
import { className, driverName, VolumeChurn } from "./volume-churn.ts";
import { canLoop } from "./world.ts";

const mostMs = 2500;
const mostCalls = 6;
const changesEach = 3;
const calmEach = 4;
/** Longer than all that is waited for while the sidecars work. */
const workMs = 1_200_000;

/** Returns what to say of it. */
export async function killMany(times: number, seed: number): Promise<string> {
  const random = seededRandom(seed);
  await using machine = new Machine(findKubectls().at(-1)?.path);
  await using cluster = await RealCluster.plan(machine, { label: "s", nodes: 1 });
  await cluster.up();
  await cluster.hasImages();
  const kubelet = cluster.local.nodes[0]?.folder ?? "";
  const data = join(machine.clusters, "csi-data");
  const driver = new TestDriver({ name: driverName, kubelet, data });
  await driver.start();
  const place = {
    kubeletFolder: kubelet,
    image: "knarr.local/busybox:1.0",
    hasDevices: canLoop(),
    withClient: <T>(use: (client: Client) => Promise<T>) => cluster.withClient(use),
  };
  const life = new VolumeChurn(place, (most) => random.below(most));
  try {
    await cluster.withClient(async (client) => {
      await client.create(StorageClass, { metadata: { name: className }, provisioner: driverName });
      await client.create(CSIDriver, { metadata: { name: driverName }, spec: {} });
    });
    const work = async (use: () => Promise<void>) =>
      cluster.withClient(async (client) => {
        await using _sidecars = new Sidecars(client, { name: driverName, socket: driver.socket });
        await use();
      }, workMs);
    await work(() => life.begin());
    for (let i = 0; i < times; i++) {
      const reached = Promise.withResolvers<void>();
      let left = random.below(mostCalls);
      driver.fault = async ({ method }: DriverCall) => {
        if (!/^Node.*Volume$/.test(method) || left-- > 0) return;
        reached.resolve();
        await pause(random.below(60));
      };
      await work(async () => {
        await life.changes(changesEach);
        await Promise.race([reached.promise, pause(random.below(mostMs))]);
      });
      await kill(cluster.pid);
      driver.fault = () => undefined;
      await machine.ok("start", `--name=${cluster.name}`, "--timeout=5m");
      if (i % calmEach === calmEach - 1) await work(() => life.settled());
    }
    await work(async () => {
      await life.settled();
      await life.end();
      await untilNone(patienceMs, () =>
        cluster.withClient(async (client) =>
          (await client.list(VolumeAttachment)).items.map((one) => JSON.stringify(one)),
        ),
      );
    });
  } finally {
    const images = readdirSync(data).filter((name) => name.endsWith(".img"));
    await driver.clear(images.map((name) => name.slice(0, -4)));
  }
  await machine.ok("down", `--name=${cluster.name}`);
  await cluster.leftNothing();
  return `${times} kills, ${life.done} changes, ${driver.calls.length} calls, seed ${seed}`;
}
