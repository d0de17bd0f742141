// Kubelets that are dropped at moments of no choice while pods with volumes come and go, often in the middle of a driver's work. The suite does a
// few, the soak many.
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Pod } from "#api/core/v1/pod.ts";
import { seededRandom } from "#base/random.ts";
import { isReady, namespace, shell } from "../kubelet/machine-node.ts";
import { type DriverCall, mountsAt } from "./driver.ts";
import { CsiWorld, canLoop } from "./world.ts";

const forever = "trap 'exit 0' TERM; sleep 1000 & wait";
const mostMs = 1500;
const mostCalls = 6;
const changesEach = 2;
const mostPods = 4;
const calmEach = 5;

/** Returns what to say of it. */
export async function dropMany(times: number, seed: number): Promise<string> {
  const random = seededRandom(seed);
  await using world = await CsiWorld.start();
  const { node, driver } = world;
  const life = new VolumeChurn(world, (most) => random.below(most));
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

/** Pods with volumes, some shared, that come and go. */
class VolumeChurn {
  readonly #world: CsiWorld;
  readonly #below: (most: number) => number;
  readonly #pods = new Set<string>();
  #claims: readonly string[] = [];
  #volumes = new Map<string, string>();
  done = 0;

  constructor(world: CsiWorld, below: (most: number) => number) {
    this.#world = world;
    this.#below = below;
  }

  async begin(): Promise<void> {
    const modes = canLoop()
      ? (["Filesystem", "Filesystem", "Block"] as const)
      : (["Filesystem", "Filesystem"] as const);
    const claims = await Promise.all(modes.map((volumeMode, i) => this.#world.claim(`data-${i}`, { volumeMode })));
    this.#claims = claims.map(({ metadata }) => metadata.name);
    this.#volumes = new Map(claims.map(({ metadata }) => [metadata.name, `pvc-${metadata.uid}`]));
  }

  async changes(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const isMany = this.#pods.size >= mostPods;
      if (isMany || (this.#pods.size > 1 && this.#below(2) === 0)) await this.#delete();
      else await this.#create();
    }
  }

  async #create(): Promise<void> {
    const name = `p${this.done++}`;
    const claim = this.#claims[this.#below(this.#claims.length)] ?? "";
    const use =
      claim === "data-2"
        ? { volumeDevices: [{ name: "v", devicePath: "/dev/xvda" }] }
        : { volumeMounts: [{ name: "v", mountPath: "/data" }] };
    const script = claim === "data-2" ? forever : `echo ${name} >> /data/starts; ${forever}`;
    this.#pods.add(name);
    await this.#world.node.create(name, {
      ...shell(script, use),
      volumes: [{ name: "v", persistentVolumeClaim: { claimName: claim } }],
    });
  }

  async #delete(): Promise<void> {
    const names = [...this.#pods];
    const name = names[this.#below(names.length)] ?? "";
    this.#pods.delete(name);
    this.done++;
    await this.#world.client.delete(Pod, { namespace, name });
  }

  async #list(): Promise<readonly Pod[]> {
    return (await this.#world.client.list(Pod, { namespace })).items;
  }

  /** Every pod has its volume once, those that are gone have none, and what no pod has is not staged. */
  async settled(): Promise<void> {
    let wrong: readonly string[] = ["nothing was looked at"];
    try {
      await this.#world.node.until(async () => {
        wrong = await this.#disagreements();
        return wrong.length === 0;
      });
    } catch (cause) {
      assert.fail(`${wrong.join("\n")}\n${cause}`);
    }
  }

  async #disagreements(): Promise<readonly string[]> {
    const pods = await this.#list();
    const wanted = new Set<string>();
    const wrong = pods.filter((pod) => !isReady(pod)).map(({ metadata }) => `${metadata.name} is not ready`);
    if (pods.length !== this.#pods.size) wrong.push(`${pods.length} pods, not ${this.#pods.size}`);
    for (const { metadata, spec } of pods) {
      const claim = spec.volumes?.find(({ name }) => name === "v")?.persistentVolumeClaim?.claimName ?? "";
      const volume = this.#volumes.get(claim) ?? "";
      if (claim === "data-2") {
        wanted.add(`plugins/kubernetes.io/csi/volumeDevices/publish/${volume}/${metadata.uid}`);
        continue;
      }
      wanted.add(`pods/${metadata.uid}/volumes/kubernetes.io~csi/${volume}/mount`);
      wanted.add(this.#world.stagedPath(volume));
    }
    const found = this.#world.mounted();
    for (const path of wanted)
      if (mountsAt(join(this.#world.kubeletFolder, path)) !== 1)
        wrong.push(`${path} is mounted ${mountsAt(join(this.#world.kubeletFolder, path))} times`);
    for (const path of found) if (!wanted.has(path)) wrong.push(`${path} is mounted for nobody`);
    return wrong;
  }

  async end(): Promise<void> {
    for (const name of this.#pods) await this.#world.node.remove(name);
    this.#pods.clear();
  }
}
