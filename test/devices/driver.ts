// A driver of devices for tests: real gRPC at real sockets, as drivers of vendors have them.
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { deviceRpcs } from "#kubelet/host/devices/messages.ts";
import { registrationRpcs } from "#kubelet/host/plugins/registration.ts";
import { serveGrpc, serving, streaming } from "../csi/grpc-server.ts";

type GrpcServer = Awaited<ReturnType<typeof serveGrpc>>;

interface HealthReport {
  readonly devices: readonly {
    readonly device: { readonly poolName: string; readonly deviceName: string };
    readonly health: number;
    readonly message: string;
    readonly healthCheckTimeoutSeconds: number;
  }[];
}

export class TestDeviceDriver {
  readonly name: string;
  /** What it was asked, in order: `prepare UID`. */
  readonly calls: string[] = [];
  /** Uids of claims that are prepared. */
  readonly prepared = new Set<string>();
  /** What the next calls fail with, by what is asked. */
  readonly faults: Partial<Record<"prepare" | "unprepare", string>> = {};
  readonly statuses: { readonly pluginRegistered: boolean; readonly error: string }[] = [];
  readonly #kubelet: string;
  readonly #versions: readonly string[];
  readonly #servers: GrpcServer[] = [];
  readonly #health: ((report: HealthReport) => void)[] = [];
  #report: HealthReport | undefined;

  constructor(name: string, kubelet: string, versions: readonly string[] = ["v1.DRAPlugin"]) {
    this.name = name;
    this.#kubelet = kubelet;
    this.#versions = versions;
  }

  async start(): Promise<void> {
    const socket = join(this.#kubelet, "plugins", this.name, "dra.sock");
    const registration = join(this.#kubelet, "plugins_registry", `${this.name}-reg.sock`);
    for (const path of [socket, registration]) mkdirSync(dirname(path), { recursive: true });
    this.#servers.push(
      await serveGrpc(socket, [
        serving(deviceRpcs.prepare, async ({ claims }) => ({
          claims: claims.map(({ uid, name }) => ({ uid, value: this.#prepare(uid, name) })),
        })),
        serving(deviceRpcs.unprepare, async ({ claims }) => ({
          claims: claims.map(({ uid }) => ({ uid, value: this.#unprepare(uid) })),
        })),
        streaming(deviceRpcs.watchHealth, (send) => {
          this.#health.push(send);
          if (this.#report) send(this.#report);
        }),
      ]),
      await serveGrpc(registration, [
        serving(registrationRpcs.getInfo, async () => ({
          type: "DRAPlugin",
          name: this.name,
          endpoint: socket,
          supportedVersions: this.#versions,
        })),
        serving(registrationRpcs.notify, async ({ pluginRegistered, error }) => {
          this.statuses.push({ pluginRegistered, error });
          return {};
        }),
      ]),
    );
  }

  /** Says how a device of the pool `n1` is: 1 for healthy, 2 for unhealthy. */
  tell(deviceName: string, health: number, message = ""): void {
    this.#report = {
      devices: [{ device: { poolName: "n1", deviceName }, health, message, healthCheckTimeoutSeconds: 3600 }],
    };
    for (const send of this.#health) send(this.#report);
  }

  stop(): void {
    for (const server of this.#servers) server.forceShutdown();
  }

  #prepare(uid: string, name: string) {
    this.calls.push(`prepare ${name}`);
    if (this.faults.prepare !== undefined) return { error: this.faults.prepare };
    this.prepared.add(uid);
    const device = (request: string) => ({
      requestNames: [request],
      poolName: "n1",
      deviceName: `${request}-0`,
      cdiDeviceIds: [`${this.name}/device=${name}-${request}`],
    });
    return { devices: [device("gpu"), device("nic")] };
  }

  #unprepare(uid: string) {
    this.calls.push("unprepare");
    if (this.faults.unprepare !== undefined) return { error: this.faults.unprepare };
    this.prepared.delete(uid);
    return {};
  }
}
