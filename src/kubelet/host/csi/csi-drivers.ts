// The storage drivers that have registered on this node.
// Upstream: pkg/volume/csi/csi_plugin.go.
import type { Clock } from "#base/clock.ts";
import type { CsiNodeObject } from "../../csi/csi-node.ts";
import { InputMissing } from "../../inputs/sources.ts";
import type { Plugin, PluginHandler } from "../plugins/plugin-handler.ts";
import { CsiDriverConnection } from "./csi-driver.ts";

export interface CsiDriversOptions {
  readonly node: CsiNodeObject;
  readonly clock: Clock;
}

export class CsiDrivers implements PluginHandler {
  readonly #options: CsiDriversOptions;
  readonly #drivers = new Map<string, CsiDriverConnection>();
  /** Called with each driver that has come. */
  came: (driver: CsiDriverConnection) => void = () => undefined;

  constructor(options: CsiDriversOptions) {
    this.#options = options;
  }

  get names(): readonly string[] {
    return [...this.#drivers.keys()];
  }

  /** Throws if there is none: it may still come. */
  get(name: string): CsiDriverConnection {
    const driver = this.#drivers.get(name);
    if (driver) return driver;
    throw new InputMissing(`kubernetes.io/csi: driver name ${name} not found in the list of registered CSI drivers`);
  }

  async register({ name, endpoint, versions }: Plugin, signal: AbortSignal): Promise<void> {
    const version = highestVersion(name, versions);
    const present = this.#drivers.get(name);
    if (present && compareVersions(present.version, version) >= 0)
      throw new Error(
        `plugin validation failed with err: kubernetes.io/csi: another driver with the name ${name} is registered with version ${present.version}`,
      );
    const driver = new CsiDriverConnection({ name, endpoint, version }, this.#options.clock);
    try {
      const { nodeId, maxVolumesPerNode, accessibleTopology } = await driver.info(signal);
      const topology = accessibleTopology?.segments ?? {};
      await this.#options.node.install({ name, nodeId, maxVolumes: maxVolumesPerNode, topology }, signal);
    } catch (error) {
      driver.close();
      throw error;
    }
    present?.close();
    this.#drivers.set(name, driver);
    this.came(driver);
  }

  async deregister({ name, endpoint }: Plugin, signal: AbortSignal): Promise<void> {
    const driver = this.#drivers.get(name);
    if (driver?.endpoint !== endpoint) return; // another has its name by now
    this.#drivers.delete(name);
    driver.close();
    await this.#options.node.uninstall(name, signal);
  }

  /** Asks a driver again how many volumes the node may have. */
  async update(name: string, signal: AbortSignal): Promise<void> {
    const { nodeId, maxVolumesPerNode, accessibleTopology } = await this.get(name).info(signal);
    const topology = accessibleTopology?.segments ?? {};
    await this.#options.node.install({ name, nodeId, maxVolumes: maxVolumesPerNode, topology }, signal);
  }

  close(): void {
    for (const driver of this.#drivers.values()) driver.close();
  }
}

/** Only the first version of the interface is spoken. */
function highestVersion(name: string, versions: readonly string[]): string {
  const spoken = versions.map((one) => one.replace(/^v/, "")).filter((one) => /^1(\.\d+)*$/.test(one));
  const [highest] = spoken.toSorted((a, b) => compareVersions(b, a));
  if (highest !== undefined) return highest;
  const list = JSON.stringify(versions);
  throw new Error(
    versions.length === 0
      ? `plugin validation failed with err: CSI driver ${JSON.stringify(name)} returned an empty list for supported versions`
      : `plugin validation failed with err: none of the versions specified ${list} of CSI driver ${JSON.stringify(name)} are supported`,
  );
}

function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((one) => one.split(".").map(Number));
  for (let i = 0; i < 3; i++) {
    const difference = (left?.[i] ?? 0) - (right?.[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
