// The storage drivers of a node, put together: where they register, what the API is told of them, and the volumes that they provide.
import { join } from "node:path";
import type { Node } from "#api/core/v1/node.ts";
import { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { retry } from "#base/retry.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Client } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { CsiNodeObject } from "../../csi/csi-node.ts";
import { uniqueNameOf } from "../../csi/csi-volume.ts";
import { VolumesInUse } from "../../csi/volumes-in-use.ts";
import type { AccountTokens } from "../../inputs/account-tokens.ts";
import { Turns } from "../../turns.ts";
import { PluginFolder } from "../plugins/plugin-folder.ts";
import type { PluginHandler } from "../plugins/plugin-handler.ts";
import type { CsiContext } from "./csi-context.ts";
import { CsiDrivers } from "./csi-drivers.ts";
import { CsiVolumes } from "./csi-volumes.ts";
import { DriverLimits } from "./driver-limits.ts";
import { StagedVolumes } from "./staged-volumes.ts";
import { CsiPaths } from "./volume-data.ts";

export interface CsiStorageOptions {
  readonly node: string;
  /** The kubelet's own folder, `/var/lib/kubelet`. */
  readonly root: string;
  readonly podsDirectory: string;
  readonly client: Client;
  readonly tokens: AccountTokens;
  /** How often volumes are published again and looked at for growth; defaults to upstream's minute. */
  readonly refreshMs?: number | undefined;
  /** Who takes plugins of other types that announce themselves in the same folder. */
  readonly otherPlugins?: Readonly<Record<string, PluginHandler>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const initialDelays = { firstMs: 200, maxMs: 7000 };

export class CsiStorage implements Component {
  readonly name = "storage drivers";
  readonly volumes: CsiVolumes;
  readonly #options: CsiStorageOptions;
  readonly #informers: Informers;
  readonly #drivers: CsiDrivers;
  readonly #staged: StagedVolumes;
  readonly #inUse: VolumesInUse;
  readonly #limits: DriverLimits;
  readonly #csiNode: CsiNodeObject;
  readonly #registered = Promise.withResolvers<void>();
  readonly #ready = Promise.withResolvers<void>();
  #attached: Node["status"]["volumesAttached"];

  constructor(options: CsiStorageOptions) {
    const { client, root, podsDirectory, node, tokens, clock, log } = options;
    this.#options = options;
    this.#informers = new Informers(options);
    const descriptions = this.#informers.of(CSIDriver);
    this.#csiNode = new CsiNodeObject({ node, client, clock });
    this.#drivers = new CsiDrivers({ node: this.#csiNode, clock });
    this.#inUse = new VolumesInUse({ node, client, clock, log });
    const context: CsiContext = {
      node,
      client,
      drivers: this.#drivers,
      paths: new CsiPaths({ root, pods: podsDirectory }),
      described: async (name) => {
        await descriptions.synced(client.signal);
        return descriptions.cache.get({ name });
      },
      tokens,
      inUse: this.#inUse,
      turns: new Turns(),
      clock,
      log,
    };
    this.#staged = new StagedVolumes(context);
    this.#limits = new DriverLimits(context);
    this.volumes = new CsiVolumes(context, this.#staged, { refreshMs: options.refreshMs });
    this.#drivers.came = (driver) => this.#came(driver.name);
    descriptions.onChange(() => this.volumes.wake());
  }

  /** The node is in the API. */
  registered(): void {
    this.#registered.resolve();
  }

  /** The node has changed in the API: volumes may have been attached. */
  nodeChanged({ status: { volumesAttached } }: Node): void {
    if (equal(this.#attached, volumesAttached)) return;
    this.#attached = volumesAttached;
    this.volumes.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { root, clock, log } = this.#options;
    const plugins = new PluginFolder({
      folder: join(root, "plugins_registry"),
      handlers: { CSIPlugin: this.#drivers, ...this.#options.otherPlugins },
      ready: this.#ready.promise,
      clock,
      log,
    });
    const beginning = { name: "beginning", run: (stop: AbortSignal) => this.#begin(stop) };
    try {
      await supervise([this.#informers, this.#staged, this.#limits, plugins, beginning], signal);
    } finally {
      this.#drivers.close();
    }
  }

  /** What an earlier kubelet has mounted is in use before anything else is told. */
  async #begin(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    await unlessAborted(this.#registered.promise, signal);
    const attempt = async (stop: AbortSignal) => {
      try {
        await this.#csiNode.initialize(stop);
        await this.#inUse.add(...(await this.#staged.findAll()).map(uniqueNameOf));
      } catch (error) {
        if (!stop.aborted) log.warn("storage is not ready; trying again", { error: explain(error) });
        throw error;
      }
    };
    await retry(attempt, { ...initialDelays, clock }, signal);
    this.#ready.resolve();
    await unlessAborted(new Promise<never>(() => undefined), signal);
  }

  #came(driver: string): void {
    this.volumes.wake();
    this.#staged.findAll().then(
      (found) => {
        for (const volume of found) if (volume.driver === driver) this.#staged.release(volume);
      },
      (error: unknown) => this.#options.log.error("staged volumes are not found", { error: explain(error) }),
    );
  }
}
