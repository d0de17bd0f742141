// A storage driver for tests: real gRPC over sockets, and volumes that are folders or images of this machine, bound to where they are wanted. It
// can be told to fail, to wait and to hang, and notes what it was asked and whatever should not be.
import { existsSync, mkdirSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Server } from "@grpc/grpc-js";
import { mounts } from "#base/host/mounts.ts";
import { runProgram } from "#base/host/run-program.ts";
import { nodeRpcs } from "#kubelet/host/csi/messages.ts";
import { registrationRpcs } from "#kubelet/host/plugins/registration.ts";
import { GrpcFault, type ServedRpc, serveGrpc, serving } from "./grpc-server.ts";
import { controllerRpcs, identityRpcs } from "./messages.ts";

export interface TestDriverOptions {
  readonly name: string;
  /** The kubelet's folder: sockets are put there. */
  readonly kubelet: string;
  /** Where volumes are. */
  readonly data: string;
  readonly nodeId?: string;
  readonly maxVolumes?: number;
  readonly topology?: Readonly<Record<string, string>>;
  /** NodeServiceCapability.RPC.Type; defaults to staging, stats and growing. */
  readonly capabilities?: readonly number[];
  readonly versions?: readonly string[];
}

export interface DriverCall {
  readonly method: string;
  readonly request: Readonly<Record<string, unknown>>;
}

export const grpcCode = { invalidArgument: 3, notFound: 5, aborted: 10, internal: 13 } as const;

export class TestDriver {
  readonly options: TestDriverOptions;
  readonly calls: DriverCall[] = [];
  /** What the kubelet said about the registration. */
  readonly told: { readonly pluginRegistered: boolean; readonly error: string }[] = [];
  /** Called before each answer: may wait, hang, or throw a GrpcFault. */
  fault: (call: DriverCall) => Promise<void> | void = () => undefined;
  readonly attached = new Map<string, Set<string>>();
  readonly #busy = new Set<string>();
  #servers: Server[] = [];

  constructor(options: TestDriverOptions) {
    this.options = options;
    mkdirSync(options.data, { recursive: true });
  }

  get socket(): string {
    return join(this.options.kubelet, "plugins", this.options.name, "csi.sock");
  }

  get registrationSocket(): string {
    return join(this.options.kubelet, "plugins_registry", `${this.options.name}-reg.sock`);
  }

  async start(): Promise<void> {
    for (const path of [this.socket, this.registrationSocket]) {
      mkdirSync(dirname(path), { recursive: true });
      rmSync(path, { force: true });
    }
    this.#servers = [await serveGrpc(this.socket, this.#rpcs())];
    this.#servers.push(await serveGrpc(this.registrationSocket, this.#registration()));
  }

  /** As if its process were killed: sockets and mounts stay. */
  crash(): void {
    for (const server of this.#servers) server.forceShutdown();
    this.#servers = [];
  }

  /** It goes for good. */
  stop(): void {
    this.crash();
    for (const path of [this.registrationSocket, this.socket]) rmSync(path, { force: true });
  }

  countOf(method: string): number {
    return this.calls.filter((call) => call.method === method).length;
  }

  last(method: string): Readonly<Record<string, unknown>> {
    const call = this.calls.findLast((one) => one.method === method);
    if (!call) throw new Error(`${method} was never called`);
    return call.request;
  }

  folderOf(volumeId: string): string {
    return join(this.options.data, volumeId);
  }

  imageOf(volumeId: string): string {
    return join(this.options.data, `${volumeId}.img`);
  }

  #registration(): readonly ServedRpc[] {
    const { name, versions = ["1.0.0"] } = this.options;
    const info = { type: "CSIPlugin", name, endpoint: this.socket, supportedVersions: versions };
    return [
      serving(registrationRpcs.getInfo, async () => info),
      serving(registrationRpcs.notify, async (status) => {
        this.told.push(status);
        return {};
      }),
    ];
  }

  #rpcs(): readonly ServedRpc[] {
    const { name, nodeId = "test-node", maxVolumes = 0, topology, capabilities = [1, 2, 3] } = this.options;
    const all = [
      serving(identityRpcs.getInfo, async () => ({ name, vendorVersion: "1" })),
      serving(identityRpcs.probe, async () => ({ ready: { value: true } })),
      serving(identityRpcs.getCapabilities, async () => ({ capabilities: [{ service: { type: 1 } }] })),
      serving(nodeRpcs.getInfo, async () => ({
        nodeId,
        maxVolumesPerNode: maxVolumes,
        ...(topology && { accessibleTopology: { segments: topology } }),
      })),
      serving(nodeRpcs.getCapabilities, async () => ({
        capabilities: capabilities.map((type) => ({ rpc: { type } })),
      })),
      serving(nodeRpcs.stage, async ({ volumeId, stagingTargetPath, volumeCapability }) => {
        if (!volumeCapability?.block) await bind(this.folderOf(volumeId), stagingTargetPath);
        return {};
      }),
      serving(nodeRpcs.unstage, async ({ stagingTargetPath }) => {
        await unbind(stagingTargetPath);
        return {};
      }),
      serving(nodeRpcs.publish, (request) => this.#publish(request)),
      serving(nodeRpcs.unpublish, async ({ targetPath }) => {
        const loop = existsSync(targetPath) && statSync(targetPath).isBlockDevice();
        await unbind(targetPath);
        rmSync(targetPath, { recursive: !loop, force: true });
        return {};
      }),
      serving(nodeRpcs.stats, async ({ volumePath }) => {
        const { bsize, blocks, bavail, bfree, files, ffree } = statfsSync(volumePath);
        const used = bsize * (blocks - bfree);
        return {
          usage: [
            { available: bsize * bavail, total: bsize * blocks, used, unit: 1 },
            { available: ffree, total: files, used: files - ffree, unit: 2 },
          ],
        };
      }),
      serving(nodeRpcs.expand, async ({ capacityRange }) => ({ capacityBytes: capacityRange?.requiredBytes ?? 0 })),
      ...this.#controller(),
    ];
    return all.map((rpc) => ({ ...rpc, answer: (request) => this.#answer(rpc, request) }));
  }

  #controller(): readonly ServedRpc[] {
    return [
      serving(controllerRpcs.create, async ({ name, capacityRange, volumeCapabilities }) => {
        const capacityBytes = capacityRange?.requiredBytes ?? 0;
        this.make(name, volumeCapabilities.some(({ block }) => block) ? capacityBytes : undefined);
        return { volume: { volumeId: name, capacityBytes, volumeContext: { made: "by test" } } };
      }),
      serving(controllerRpcs.delete, async ({ volumeId }) => {
        await this.#detachLoop(volumeId);
        for (const path of [this.folderOf(volumeId), this.imageOf(volumeId)])
          rmSync(path, { recursive: true, force: true });
        return {};
      }),
      serving(controllerRpcs.attach, async ({ volumeId, nodeId }) => {
        this.attached.set(volumeId, (this.attached.get(volumeId) ?? new Set()).add(nodeId));
        return { publishContext: { device: `/dev/of-${volumeId}` } };
      }),
      serving(controllerRpcs.detach, async ({ volumeId, nodeId }) => {
        this.attached.get(volumeId)?.delete(nodeId);
        return {};
      }),
      serving(controllerRpcs.grow, async ({ volumeId, capacityRange }) => {
        const capacityBytes = capacityRange?.requiredBytes ?? 0;
        if (existsSync(this.imageOf(volumeId))) truncateSync(this.imageOf(volumeId), capacityBytes);
        return { capacityBytes, needsNode: true };
      }),
      serving(controllerRpcs.getCapabilities, async () => ({
        capabilities: [1, 2, 9].map((type) => ({ rpc: { type } })),
      })),
    ];
  }

  /** A volume: a folder, or an image of so many bytes. */
  make(volumeId: string, imageBytes?: number): void {
    if (imageBytes === undefined) mkdirSync(this.folderOf(volumeId), { recursive: true });
    else {
      writeFileSync(this.imageOf(volumeId), "");
      truncateSync(this.imageOf(volumeId), imageBytes);
    }
  }

  /** One call for a volume at a time, as real drivers have it. */
  async #answer(rpc: ServedRpc, request: unknown): Promise<unknown> {
    const call = { method: rpc.path.replace(/^.*\//, ""), request: request as DriverCall["request"] };
    this.calls.push(call);
    const { volumeId } = call.request;
    const key = typeof volumeId === "string" && !call.method.endsWith("Stats") ? volumeId : undefined;
    if (key !== undefined && this.#busy.has(key))
      throw new GrpcFault(grpcCode.aborted, "an operation with the given volume is under way");
    if (key !== undefined) this.#busy.add(key);
    try {
      await this.fault(call);
      return await rpc.answer(request);
    } finally {
      if (key !== undefined) this.#busy.delete(key);
    }
  }

  async #publish(request: PublishCall): Promise<Record<string, never>> {
    const { volumeId, stagingTargetPath, targetPath, volumeCapability, volumeContext, readonly } = request;
    if (volumeCapability?.block) {
      if (!existsSync(this.imageOf(volumeId))) throw new GrpcFault(grpcCode.notFound, `no volume ${volumeId}`);
      if (existsSync(targetPath) && statSync(targetPath).isBlockDevice()) return {};
      writeFileSync(targetPath, "");
      await runProgram(["mount", "--bind", await this.#loopOf(volumeId), targetPath]);
      return {};
    }
    if (volumeContext["csi.storage.k8s.io/ephemeral"] === "true") this.make(volumeId);
    const source = stagingTargetPath || this.folderOf(volumeId);
    if (!existsSync(source)) throw new GrpcFault(grpcCode.notFound, `no volume ${volumeId}`);
    if (mountsAt(targetPath) === 0) {
      mkdirSync(targetPath, { recursive: true });
      await bind(source, targetPath);
      if (readonly) await runProgram(["mount", "-o", "remount,bind,ro", targetPath]);
    }
    return {};
  }

  async #loopOf(volumeId: string): Promise<string> {
    const found = (await runProgram(["losetup", "-j", this.imageOf(volumeId)])).split(":")[0];
    return found || (await runProgram(["losetup", "-f", "--show", this.imageOf(volumeId)])).trim();
  }

  async #detachLoop(volumeId: string): Promise<void> {
    if (!existsSync(this.imageOf(volumeId))) return;
    const found = (await runProgram(["losetup", "-j", this.imageOf(volumeId)])).split(":")[0];
    if (found) await runProgram(["losetup", "-d", found]);
  }

  /** Ends all that it may have left on this machine. */
  async clear(volumeIds: readonly string[] = []): Promise<void> {
    this.stop();
    for (const { path } of mounts().toReversed())
      if (path.startsWith(`${this.options.kubelet}/`)) await runProgram(["umount", path]).catch(() => undefined);
    for (const volumeId of volumeIds) await this.#detachLoop(volumeId);
  }
}

interface PublishCall {
  readonly volumeId: string;
  readonly stagingTargetPath: string;
  readonly targetPath: string;
  readonly volumeCapability: { readonly block: unknown } | undefined;
  readonly volumeContext: Readonly<Record<string, string>>;
  readonly readonly: boolean;
}

/** How often something is mounted there. */
export const mountsAt = (wanted: string): number => mounts().filter(({ path }) => path === wanted).length;

async function bind(source: string, target: string): Promise<void> {
  if (!existsSync(source)) throw new GrpcFault(grpcCode.notFound, `nothing at ${source}`);
  if (mountsAt(target) > 0) return;
  await runProgram(["mount", "--bind", source, target]);
}

async function unbind(target: string): Promise<void> {
  if (mountsAt(target) > 0) await runProgram(["umount", target]);
}
