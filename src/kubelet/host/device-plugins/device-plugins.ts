// Devices that plugins offer as extended resources: how many a node has, which containers have which, and what a container needs to use them.
// Upstream: pkg/kubelet/cm/devicemanager/manager.go.
import { join } from "node:path";
import { isExtended } from "#api/core/v1/amounts.ts";
import type { Container } from "#api/core/v1/container.ts";
import type { ResourceStatus } from "#api/core/v1/container-status.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import { isByClaim } from "#rules/devices/extended-resources.ts";
import { parseQuantity, quantityValue } from "#schema/quantity.ts";
import { type HostResource, HostResourceError } from "../../host-resource.ts";
import { Turns } from "../../turns.ts";
import { CheckpointFile } from "../checkpoint-file.ts";
import { CriConnection } from "../cri/connection.ts";
import { type ContainerAllocation, devicePluginRpcs } from "./messages.ts";
import { type PluginAnnouncement, serveRegistration } from "./registration-server.ts";

export interface DevicePluginsOptions {
  /** `/var/lib/kubelet/device-plugins`. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** How many devices of a resource a node has, and how many of them work. */
export type DeviceCounts = Readonly<Record<string, { readonly capacity: number; readonly allocatable: number }>>;

interface DeviceGrant {
  readonly pod: string;
  readonly container: string;
  /** Whether the devices are free for the containers after it, since it ends before they begin. */
  readonly isPassing: boolean;
  readonly resource: string;
  readonly ids: readonly string[];
  readonly allocation: ContainerAllocation;
}

interface DevicePluginState {
  readonly endpoint: string;
  readonly connection: CriConnection;
  readonly isPreStartRequired: boolean;
  readonly hasPreferences: boolean;
  /** Ids, and whether they work. */
  devices: ReadonlyMap<string, boolean>;
}

interface Checkpoint {
  readonly resources: readonly string[];
  readonly grants: readonly DeviceGrant[];
}

const checkpointName = "kubelet_internal_checkpoint";
const version = "v1beta1";
const callMs = 30_000;

export class DevicePlugins implements HostResource, Component {
  readonly name = "device plugins";
  readonly #options: DevicePluginsOptions;
  readonly #file: CheckpointFile<Checkpoint>;
  readonly #plugins = new Map<string, DevicePluginState>();
  readonly #turns = new Turns();
  /** Resources of plugins that have not come again yet count as none. */
  readonly #resources = new Set<string>();
  #grants: Promise<DeviceGrant[]> | undefined;
  /** The same once it has been read, for those who cannot wait. */
  #known: readonly DeviceGrant[] = [];
  readonly #healthListeners: ((podUid: string) => void)[] = [];
  #stop: AbortSignal | undefined;
  readonly #serving = Promise.withResolvers<void>();

  constructor(options: DevicePluginsOptions) {
    this.#options = options;
    this.#file = new CheckpointFile(join(options.folder, checkpointName));
  }

  get counts(): DeviceCounts {
    const counts = [...this.#resources].map((resource) => {
      const health = [...(this.#plugins.get(resource)?.devices.values() ?? [])];
      return [resource, { capacity: health.length, allocatable: health.filter(Boolean).length }] as const;
    });
    return Object.fromEntries(counts);
  }

  /** Resolves when plugins can announce themselves. */
  get serving(): Promise<void> {
    return this.#serving.promise;
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#stop = signal;
    await this.#all();
    const close = await serveRegistration(this.#options.folder, [checkpointName], (one) => this.#register(one));
    this.#serving.resolve();
    try {
      await unlessAborted(new Promise<never>(() => undefined), signal);
    } finally {
      close();
      for (const { connection } of this.#plugins.values()) connection.close();
    }
  }

  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const { initContainers = [], containers } = pod.spec;
    if (![...initContainers, ...containers].some((one) => this.#wantedBy(pod, one).length > 0)) return;
    try {
      await this.#turns.take("devices", async () => {
        for (const one of initContainers) await this.#grantAll(pod, one, one.restartPolicy !== "Always", signal);
        for (const one of containers) await this.#grantAll(pod, one, false, signal);
      });
    } catch (error) {
      signal.throwIfAborted();
      throw new HostResourceError(
        "UnexpectedAdmissionError",
        `Allocate failed due to ${explain(error)}, which is unexpected`,
        error,
      );
    }
  }

  release({ metadata: { uid = "" } }: Pod): Promise<void> {
    return this.remove(uid);
  }

  async remove(podUid: string): Promise<void> {
    await this.#turns.take("devices", async () => {
      const grants = await this.#all();
      const kept = grants.filter(({ pod }) => pod !== podUid);
      if (kept.length < grants.length) await this.#save(kept);
    });
  }

  async pods(): Promise<readonly string[]> {
    return [...new Set((await this.#all()).map(({ pod }) => pod))];
  }

  /** What a container needs to use its devices. Plugins that want to know of its start are told. */
  async allocations({ metadata }: Pod, { name }: Container): Promise<readonly ContainerAllocation[]> {
    const grants = (await this.#all()).filter((one) => one.pod === metadata.uid && one.container === name);
    for (const { resource, ids } of grants) {
      const plugin = this.#plugins.get(resource);
      const signal = this.#stop;
      if (plugin?.isPreStartRequired && signal)
        await plugin.connection.call(devicePluginRpcs.preStart, { deviceIds: [...ids] }, { timeoutMs: callMs, signal });
    }
    return grants.map(({ allocation }) => allocation);
  }

  deviceHealth({ metadata }: Pod, { name: container }: Container): readonly ResourceStatus[] {
    const grants = this.#known.filter((one) => one.pod === metadata.uid && one.container === container);
    return grants.map(({ resource, ids }) => {
      const devices = this.#plugins.get(resource)?.devices;
      const healthOf = (id: string) => ((devices?.get(id) ?? true) ? "Healthy" : "Unhealthy");
      return {
        name: resource,
        resources: ids.map((resourceID) => ({ resourceID, health: healthOf(resourceID), message: undefined })),
      };
    });
  }

  onHealthChange(listener: (podUid: string) => void): void {
    this.#healthListeners.push(listener);
  }

  async #register({ version: spoken, endpoint, resourceName }: PluginAnnouncement): Promise<void> {
    const { folder, clock, log } = this.#options;
    const signal = this.#stop;
    if (!signal) throw new Error("the kubelet does not run yet");
    if (spoken !== version)
      throw new Error(
        `requested API version ${JSON.stringify(spoken)} is not supported by kubelet. Supported version is "${version}"`,
      );
    if (!resourceName.includes("/") || !isExtended(resourceName))
      throw new Error(`the ResourceName ${JSON.stringify(resourceName)} is invalid`);
    const connection = new CriConnection(`unix://${join(folder, endpoint)}`, clock, undefined, {});
    const options = await connection
      .call(devicePluginRpcs.options, {}, { timeoutMs: callMs, signal })
      .catch((error) => {
        connection.close();
        throw error;
      });
    this.#plugins.get(resourceName)?.connection.close();
    const plugin: DevicePluginState = {
      endpoint,
      connection,
      isPreStartRequired: options.preStartRequired,
      hasPreferences: options.preferredAllocationAvailable,
      devices: new Map(),
    };
    this.#plugins.set(resourceName, plugin);
    this.#resources.add(resourceName);
    await this.#turns.take("devices", async () => this.#save(await this.#all()));
    log.info("a device plugin is registered", { resource: resourceName, endpoint });
    void this.#follow(resourceName, plugin, signal);
  }

  /** Until the stream ends: then none of its devices works, as far as anyone knows. Never rejects. */
  async #follow(resource: string, plugin: DevicePluginState, signal: AbortSignal): Promise<void> {
    try {
      for await (const { devices } of plugin.connection.stream(devicePluginRpcs.listAndWatch, {}, signal))
        this.#setHealth(resource, plugin, new Map(devices.map(({ id, health }) => [id, health === "Healthy"])));
    } catch (error) {
      if (!signal.aborted) this.#options.log.warn("a device plugin is gone", { resource, error: explain(error) });
    }
    this.#setHealth(resource, plugin, new Map([...plugin.devices.keys()].map((id) => [id, false])));
  }

  #setHealth(resource: string, plugin: DevicePluginState, devices: ReadonlyMap<string, boolean>): void {
    const before = plugin.devices;
    plugin.devices = devices;
    const isChanged = (id: string) => before.get(id) !== devices.get(id);
    const pods = this.#known
      .filter((one) => one.resource === resource && one.ids.some(isChanged))
      .map(({ pod }) => pod);
    for (const pod of new Set(pods)) for (const listener of this.#healthListeners) listener(pod);
  }

  #wantedBy(
    pod: Pod,
    { name: container, resources }: Container,
  ): readonly (readonly [resource: string, count: number])[] {
    return Object.entries(resources?.limits ?? {})
      .filter(([name]) => this.#resources.has(name) && !isByClaim(pod, container, name))
      .map(([name, amount]) => [name, Number(quantityValue(parseQuantity(amount)))] as const);
  }

  async #grantAll(pod: Pod, container: Container, isPassing: boolean, signal: AbortSignal): Promise<void> {
    const { uid = "" } = pod.metadata;
    for (const [resource, count] of this.#wantedBy(pod, container)) {
      const grants = await this.#all();
      const isOurs = (one: DeviceGrant) => one.pod === uid && one.resource === resource;
      if (count === 0 || grants.some((one) => isOurs(one) && one.container === container.name)) continue;
      const plugin = this.#plugins.get(resource);
      if (!plugin) throw new Error(`no plugin of ${resource} has come since the kubelet started`);
      const taken = new Set(
        grants.filter((one) => one.resource === resource && !(isOurs(one) && one.isPassing)).flatMap(({ ids }) => ids),
      );
      const reusable = grants
        .filter((one) => isOurs(one) && one.isPassing)
        .flatMap(({ ids }) => ids)
        .filter((id) => !taken.has(id));
      const free = [...plugin.devices].flatMap(([id, isHealthy]) => (isHealthy && !taken.has(id) ? [id] : []));
      const ids = await chooseDevices(plugin, { resource, count, free, reusable }, signal);
      const answer = await plugin.connection.call(
        devicePluginRpcs.allocate,
        { containers: [{ deviceIds: ids }] },
        { timeoutMs: callMs, signal },
      );
      const [allocation] = answer.containers;
      if (!allocation) throw new Error(`no containers returned in allocation response of ${resource}`);
      await this.#save([...grants, { pod: uid, container: container.name, isPassing, resource, ids, allocation }]);
    }
  }

  #all(): Promise<DeviceGrant[]> {
    this.#grants ??= this.#file.read().then((checkpoint) => {
      for (const resource of checkpoint?.resources ?? []) this.#resources.add(resource);
      this.#known = checkpoint?.grants ?? [];
      return [...this.#known];
    });
    return this.#grants;
  }

  async #save(grants: DeviceGrant[]): Promise<void> {
    await this.#file.write({ resources: [...this.#resources], grants });
    this.#grants = Promise.resolve(grants);
    this.#known = grants;
  }
}

interface DeviceChoice {
  readonly resource: string;
  readonly count: number;
  readonly free: readonly string[];
  /** Devices of containers of the pod that end before this one begins. */
  readonly reusable: readonly string[];
}

async function chooseDevices(plugin: DevicePluginState, choice: DeviceChoice, signal: AbortSignal): Promise<string[]> {
  const { resource, count, free, reusable } = choice;
  const mustInclude = [...new Set(reusable)].filter((id) => free.includes(id)).slice(0, count);
  const available = [...mustInclude, ...free.filter((id) => !mustInclude.includes(id))];
  if (available.length < count)
    throw new Error(
      `requested number of devices unavailable for ${resource}. Requested: ${count}, Available: ${available.length}`,
    );
  if (!plugin.hasPreferences || mustInclude.length === count || available.length === count)
    return available.slice(0, count);
  const request = { containers: [{ available, mustInclude, size: count }] };
  const answer = await plugin.connection.call(devicePluginRpcs.preferred, request, { timeoutMs: callMs, signal });
  // What a plugin prefers is taken as far as it can be had.
  const liked = (answer.containers[0]?.deviceIds ?? []).filter((id) => available.includes(id));
  return [...new Set([...mustInclude, ...liked, ...available])].slice(0, count);
}
