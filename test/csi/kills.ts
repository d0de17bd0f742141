// Kubelets that are dropped at moments of no choice while pods with volumes come and go, often in the middle of a driver's work. The suite does a
// few, the soak many.
import { setTimeout as pause } from "node:timers/promises";
import { seededRandom } from "#base/random.ts";
import type { Client } from "#client/client.ts";
import { image } from "../kubelet/containerd.ts";
import type { DriverCall } from "./driver.ts";
import { VolumeChurn } from "./volume-churn.ts";
import { CsiWorld, canLoop } from "./world.ts";

const mostMs = 1500;
const mostCalls = 6;
const changesEach = 2;
const calmEach = 5;

/** Returns what to say of it. */
export async function dropMany(times: number, seed: number): Promise<string> {
  const random = seededRandom(seed);
  await using world = await CsiWorld.start();
  const { node, driver } = world;
  const place = {
    kubeletFolder: world.kubeletFolder,
    image,
    nodeName: "n1",
    hasDevices: canLoop(),
    withClient: <T>(use: (client: Client) => Promise<T>) => use(world.client),
  };
  const life = new VolumeChurn(place, (most) => random.below(most));
  await node.startKubelet();
  await life.begin();
  for (let i = 0; i < times; i++) {
    // At once, after a while, or during one of the next calls, whose answer nobody hears.
    const reached = Promise.withResolvers<void>();
    let left = random.below(mostCalls);
    driver.fault = async ({ method }: DriverCall) => {
      if (!/^Node.*Volume$/.test(method) || left-- > 0) return;
      reached.resolve();
      await pause(random.below(60));
    };
    await life.changes(changesEach);
    await Promise.race([reached.promise, pause(random.below(mostMs))]);
    await node.dropKubelet();
    driver.fault = () => undefined;
    await node.startKubelet({ volumeRefreshMs: 1000 });
    if (i % calmEach === calmEach - 1) await life.settled();
  }
  await life.settled();
  await life.end();
  await world.untilClean();
  return `${times} drops, ${life.done} changes, ${driver.calls.length} calls, seed ${seed}`;
}
