// The drivers of devices that have registered on this node.
// Upstream: pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go.
import type { Clock } from "#base/clock.ts";
import { CriConnection } from "../cri/connection.ts";
import type { CriRpc } from "../cri/messages.ts";
import type { Plugin, PluginHandler } from "../plugins/plugin-handler.ts";
import type { DeviceSlices } from "./device-slices.ts";

/** What a driver must serve; upstream's older v1beta1 is not spoken here. */
const version = "v1.DRAPlugin";
/** As long as upstream waits for an answer. */
const callMs = 45_000;

interface DriverRegistration {
  readonly endpoint: string;
  readonly connection: CriConnection;
}

export class DeviceDrivers implements PluginHandler {
  readonly #clock: Clock;
  /** Told who comes and goes. */
  readonly #slices: Pick<DeviceSlices, "came" | "went"> | undefined;
  readonly #drivers = new Map<string, DriverRegistration>();

  constructor(clock: Clock, slices?: Pick<DeviceSlices, "came" | "went">) {
    this.#clock = clock;
    this.#slices = slices;
  }

  async register({ name, endpoint, versions }: Plugin): Promise<void> {
    if (!versions.includes(version))
      throw new Error(`none of the provided supported versions [${versions.join(" ")}] is known, want ${version}`);
    this.#drivers.get(name)?.connection.close();
    const connection = new CriConnection(`unix://${endpoint.replace(/^unix:\/\//, "")}`, this.#clock, undefined, {});
    this.#drivers.set(name, { endpoint, connection });
    this.#slices?.came(name);
  }

  async deregister({ name, endpoint }: Plugin): Promise<void> {
    const driver = this.#drivers.get(name);
    if (driver?.endpoint !== endpoint) return; // another has its name by now
    this.#drivers.delete(name);
    driver.connection.close();
    this.#slices?.went(name);
  }

  call<D, T>(name: string, rpc: CriRpc<D, T>, draft: D, signal: AbortSignal): Promise<T> {
    const driver = this.#drivers.get(name);
    if (!driver) throw new Error(`DRA driver ${name} is not registered`);
    return driver.connection.call(rpc, draft, { timeoutMs: callMs, signal });
  }

  close(): void {
    for (const { connection } of this.#drivers.values()) connection.close();
    this.#drivers.clear();
  }
}
