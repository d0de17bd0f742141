// Pods with volumes of the tests' driver, some shared, that come and go; and whether the machine has mounted what they should have, and no more.
import assert from "node:assert/strict";
import { join } from "node:path";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { systemClock } from "#base/clock.ts";
import { hex } from "#base/hex.ts";
import { mounts } from "#base/host/mounts.ts";
import { sha256 } from "#base/sha256.ts";
import type { Client } from "#client/client.ts";
import { mountsAt } from "./driver.ts";

export const namespace = "default";
export const driverName = "test.csi.knarr.dev";
export const className = "test";
const forever = "trap 'exit 0' TERM; sleep 1000 & wait";
const mostPods = 4;
const patienceMs = 300_000;
const lookMs = 100;

/** Where pods run. */
export interface ChurnPlace {
  readonly kubeletFolder: string;
  readonly image: string;
  /** For pods that nobody schedules. */
  readonly nodeName?: string;
  readonly hasDevices: boolean;
  withClient<T>(use: (client: Client) => Promise<T>): Promise<T>;
}

/** Where a volume is staged, below the kubelet's folder. */
export const stagedPath = (handle: string): string =>
  `plugins/kubernetes.io/csi/${driverName}/${hex(sha256(handle))}/globalmount`;

/** What drivers have mounted in the kubelet's folder, without the folder's own name. */
export const mountedIn = (kubeletFolder: string): readonly string[] =>
  mounts()
    .map(({ path }) => path)
    .filter((path) => path.startsWith(`${kubeletFolder}/`) && /kubernetes\.io[~/]csi/.test(path))
    .map((path) => path.slice(kubeletFolder.length + 1))
    .toSorted();

export const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type, status: holds }) => type === "Ready" && holds === "True") === true;

export class VolumeChurn {
  readonly #place: ChurnPlace;
  readonly #below: (most: number) => number;
  readonly #pods = new Set<string>();
  /** Volumes by the names of claims. */
  #volumes = new Map<string, string>();
  done = 0;

  constructor(place: ChurnPlace, below: (most: number) => number) {
    this.#place = place;
    this.#below = below;
  }

  async begin(): Promise<void> {
    const modes = ["Filesystem", "Filesystem", ...(this.#place.hasDevices ? ["Block" as const] : [])] as const;
    for (const [i, volumeMode] of modes.entries()) {
      const claim = await this.#place.withClient((client) =>
        client.create(PersistentVolumeClaim, {
          metadata: { namespace, name: `data-${i}` },
          spec: {
            accessModes: ["ReadWriteOnce"],
            storageClassName: className,
            volumeMode,
            resources: { requests: { storage: "8Mi" } },
          },
        }),
      );
      this.#volumes.set(claim.metadata.name, `pvc-${claim.metadata.uid}`);
    }
  }

  async changes(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const isMany = this.#pods.size >= mostPods;
      if (isMany || (this.#pods.size > 1 && this.#below(2) === 0)) await this.#delete();
      else await this.#create();
    }
  }

  async #create(): Promise<void> {
    const { image, nodeName } = this.#place;
    const name = `p${this.done++}`;
    const claims = [...this.#volumes.keys()];
    const claimName = claims[this.#below(claims.length)] ?? "";
    const use = isDevice(claimName)
      ? { volumeDevices: [{ name: "v", devicePath: "/dev/xvda" }] }
      : { volumeMounts: [{ name: "v", mountPath: "/data" }] };
    const script = isDevice(claimName) ? forever : `echo ${name} >> /data/starts; ${forever}`;
    this.#pods.add(name);
    await this.#place.withClient((client) =>
      client.create(Pod, {
        metadata: { namespace, name },
        spec: {
          ...(nodeName !== undefined && { nodeName }),
          terminationGracePeriodSeconds: 1,
          containers: [{ name: "c", image, command: ["/bin/sh", "-c", script], ...use }],
          volumes: [{ name: "v", persistentVolumeClaim: { claimName } }],
        },
      }),
    );
  }

  async #delete(): Promise<void> {
    const names = [...this.#pods];
    const name = names[this.#below(names.length)] ?? "";
    this.#pods.delete(name);
    this.done++;
    await this.#place.withClient((client) => client.delete(Pod, { namespace, name }));
  }

  /** Every pod has its volume once, those that are gone have none, and what no pod has is not staged. */
  async settled(): Promise<void> {
    for (const end = systemClock.elapsed() + patienceMs; ; ) {
      const wrong = await this.#disagreements();
      if (wrong.length === 0) return;
      if (systemClock.elapsed() > end) assert.fail(wrong.join("\n"));
      await systemClock.sleep(lookMs, new AbortController().signal);
    }
  }

  /** Every pod goes, and nothing stays. */
  async end(): Promise<void> {
    for (const name of this.#pods) await this.#place.withClient((client) => client.delete(Pod, { namespace, name }));
    this.#pods.clear();
    await this.settled();
  }

  async #disagreements(): Promise<readonly string[]> {
    const { items } = await this.#place.withClient((client) => client.list(Pod, { namespace }));
    const wrong = items.filter((pod) => !isReady(pod)).map(({ metadata }) => `${metadata.name} is not ready`);
    if (items.length !== this.#pods.size) wrong.push(`${items.length} pods, not ${this.#pods.size}`);
    const wanted = new Set(items.flatMap((pod) => this.#pathsOf(pod)));
    for (const path of wanted) {
      const count = mountsAt(join(this.#place.kubeletFolder, path));
      if (count !== 1) wrong.push(`${path} is mounted ${count} times`);
    }
    for (const path of mountedIn(this.#place.kubeletFolder))
      if (!wanted.has(path)) wrong.push(`${path} is mounted for nobody`);
    return wrong;
  }

  #pathsOf({ metadata, spec }: Pod): readonly string[] {
    const claim = spec.volumes?.find(({ name }) => name === "v")?.persistentVolumeClaim?.claimName ?? "";
    const volume = this.#volumes.get(claim) ?? "";
    if (isDevice(claim)) return [`plugins/kubernetes.io/csi/volumeDevices/publish/${volume}/${metadata.uid}`];
    return [`pods/${metadata.uid}/volumes/kubernetes.io~csi/${volume}/mount`, stagedPath(volume)];
  }
}

const isDevice = (claim: string): boolean => claim === "data-2";
