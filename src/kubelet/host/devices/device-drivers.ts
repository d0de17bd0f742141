// The drivers of devices that have registered on this node.
// Upstream: pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go.
import type { Clock } from "#base/clock.ts";
import type { DecodedMessage } from "#base/host/protobuf.ts";
import { CriConnection } from "../cri/connection.ts";
import type { CriRpc } from "../cri/messages.ts";
import type { Plugin, PluginHandler } from "../plugins/plugin-handler.ts";
import type { DeviceSlices } from "./device-slices.ts";
import { type DeviceReport, DriverHealth } from "./driver-health.ts";
import { deviceRpcs } from "./messages.ts";

/** What a driver must serve; upstream's older v1beta1 is not spoken here. */
const version = "v1.DRAPlugin";
/** As long as upstream waits for an answer. */
const callMs = 45_000;

interface DriverRegistration {
  readonly endpoint: string;
  readonly connection: CriConnection;
  readonly stop: AbortController;
}

/** Told of devices whose health has changed. */
type HealthListener = (driver: string, changed: readonly DeviceReport[]) => void;

export class DeviceDrivers implements PluginHandler {
  readonly #clock: Clock;
  /** Told who comes and goes. */
  readonly #slices: Pick<DeviceSlices, "came" | "went"> | undefined;
  readonly #drivers = new Map<string, DriverRegistration>();
  readonly #listeners: HealthListener[] = [];
  readonly health: DriverHealth;

  constructor(clock: Clock, slices?: Pick<DeviceSlices, "came" | "went">) {
    this.#clock = clock;
    this.#slices = slices;
    this.health = new DriverHealth(clock);
  }

  onHealth(listener: HealthListener): void {
    this.#listeners.push(listener);
  }

  async register({ name, endpoint, versions }: Plugin): Promise<void> {
    if (!versions.includes(version))
      throw new Error(`none of the provided supported versions [${versions.join(" ")}] is known, want ${version}`);
    this.#end(this.#drivers.get(name));
    const connection = new CriConnection(`unix://${endpoint.replace(/^unix:\/\//, "")}`, this.#clock, undefined, {});
    const stop = new AbortController();
    this.#drivers.set(name, { endpoint, connection, stop });
    this.#slices?.came(name);
    void this.#followHealth(name, connection, stop.signal);
  }

  async deregister({ name, endpoint }: Plugin): Promise<void> {
    const driver = this.#drivers.get(name);
    if (driver?.endpoint !== endpoint) return; // another has its name by now
    this.#drivers.delete(name);
    this.#end(driver);
    this.#slices?.went(name);
  }

  call<D, T>(name: string, rpc: CriRpc<D, T>, draft: D, signal: AbortSignal): Promise<T> {
    const driver = this.#drivers.get(name);
    if (!driver) throw new Error(`DRA driver ${name} is not registered`);
    return driver.connection.call(rpc, draft, { timeoutMs: callMs, signal });
  }

  close(): void {
    for (const driver of this.#drivers.values()) this.#end(driver);
    this.#drivers.clear();
  }

  #end(driver: DriverRegistration | undefined): void {
    driver?.stop.abort(new Error("the driver is gone"));
    driver?.connection.close();
  }

  /** Until the stream ends, if there is one: not every driver tells of health. Never rejects. */
  async #followHealth(name: string, connection: CriConnection, signal: AbortSignal): Promise<void> {
    try {
      for await (const { devices } of connection.stream(deviceRpcs.watchHealth, {}, signal))
        this.#tell(name, this.health.update(name, devices.map(reportOf)));
    } catch {
      // A driver that does not serve it, or that is gone: of both nothing is known.
    }
    if (this.#drivers.get(name)?.connection === connection || !this.#drivers.has(name))
      this.#tell(name, this.health.forget(name));
  }

  #tell(name: string, changed: readonly DeviceReport[]): void {
    if (changed.length > 0) for (const listener of this.#listeners) listener(name, changed);
  }
}

type HealthMessage = DecodedMessage<typeof deviceRpcs.watchHealth.response>["devices"][number];

const reportOf = ({ device, health, message, healthCheckTimeoutSeconds }: HealthMessage): DeviceReport => ({
  pool: device?.poolName ?? "",
  device: device?.deviceName ?? "",
  health: health === 1 ? "Healthy" : health === 2 ? "Unhealthy" : "Unknown",
  message,
  timeoutMs: Math.max(0, healthCheckTimeoutSeconds) * 1000,
});
