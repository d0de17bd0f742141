// A device plugin for tests: real gRPC at a socket of its own, as plugins of vendors have it.
import { join } from "node:path";
import { Server, ServerCredentials, type ServerWritableStream, type ServiceError } from "@grpc/grpc-js";
import { systemClock } from "#base/clock.ts";
import type { ProtobufMessage } from "#base/host/protobuf.ts";
import { CriConnection } from "#kubelet/host/cri/connection.ts";
import { devicePluginRpcs as rpcs } from "#kubelet/host/device-plugins/messages.ts";

export interface TestPluginOptions {
  readonly resource: string;
  /** The kubelet's folder of device plugins. */
  readonly folder: string;
  readonly isPreStartRequired?: boolean;
  /** What it prefers of what it could give. */
  readonly prefer?: (available: readonly string[], size: number) => readonly string[];
}

type Listed = { readonly devices: readonly { readonly id: string; readonly health: string }[] };

export class TestDevicePlugin {
  readonly calls: string[] = [];
  fault: string | undefined;
  readonly #options: TestPluginOptions;
  readonly #server = new Server();
  readonly #streams = new Set<ServerWritableStream<unknown, Listed>>();
  #devices: Listed["devices"] = [];

  constructor(options: TestPluginOptions) {
    this.#options = options;
  }

  get #endpoint(): string {
    return `${this.#options.resource.replace("/", "_")}.sock`;
  }

  /** Who is healthy, by id. */
  offer(health: Readonly<Record<string, boolean>>): void {
    this.#devices = Object.entries(health).map(([id, isHealthy]) => ({
      id,
      health: isHealthy ? "Healthy" : "Unhealthy",
    }));
    for (const stream of this.#streams) stream.write({ devices: this.#devices });
  }

  async start(): Promise<void> {
    const { isPreStartRequired = false, prefer, folder } = this.#options;
    const unary = <T, D>(
      rpc: {
        readonly path: string;
        readonly request: ProtobufMessage<T, never>;
        readonly response: ProtobufMessage<unknown, D>;
      },
      answer: (request: T) => D,
    ) =>
      this.#server.addService(
        { rpc: { ...codec(rpc), requestStream: false, responseStream: false } },
        {
          rpc: (
            call: { readonly request: T },
            callback: (error: Partial<ServiceError> | null, value?: unknown) => void,
          ) => {
            if (this.fault !== undefined) callback({ code: 13, details: this.fault });
            else callback(null, answer(call.request));
          },
        },
      );
    unary(rpcs.options, () => ({
      preStartRequired: isPreStartRequired,
      preferredAllocationAvailable: prefer !== undefined,
    }));
    unary(rpcs.preferred, ({ containers }) => ({
      containers: containers.map(({ available, size }) => ({ deviceIds: [...(prefer?.(available, size) ?? [])] })),
    }));
    unary(rpcs.allocate, ({ containers }) => ({
      containers: containers.map(({ deviceIds }) => {
        this.calls.push(`allocate ${deviceIds.join(",")}`);
        return {
          envs: { DEVICES: deviceIds.join(",") },
          mounts: [{ containerPath: "/opt/vendor", hostPath: folder, readOnly: true }],
          devices: [{ containerPath: "/dev/vendor0", hostPath: "/dev/null", permissions: "rw" }],
          annotations: { "example.com/devices": deviceIds.join(",") },
        };
      }),
    }));
    unary(rpcs.preStart, ({ deviceIds }) => {
      this.calls.push(`start ${deviceIds.join(",")}`);
      return {};
    });
    this.#server.addService(
      { list: { ...codec(rpcs.listAndWatch), requestStream: false, responseStream: true } },
      {
        list: (stream: ServerWritableStream<unknown, Listed>) => {
          this.#streams.add(stream);
          stream.on("cancelled", () => this.#streams.delete(stream));
          stream.write({ devices: this.#devices });
        },
      },
    );
    await new Promise<void>((resolve, reject) =>
      this.#server.bindAsync(`unix://${join(folder, this.#endpoint)}`, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      ),
    );
  }

  /** Rejects with what the kubelet says. */
  async register(version = "v1beta1"): Promise<void> {
    const connection = new CriConnection(
      `unix://${join(this.#options.folder, "kubelet.sock")}`,
      systemClock,
      undefined,
      {},
    );
    try {
      const { resource: resourceName } = this.#options;
      const draft = { version, endpoint: this.#endpoint, resourceName };
      await connection.call(rpcs.register, draft, { timeoutMs: 60_000, signal: new AbortController().signal });
    } finally {
      connection.close();
    }
  }

  stop(): void {
    this.#server.forceShutdown();
  }
}

const codec = <T, D>(rpc: {
  readonly path: string;
  readonly request: ProtobufMessage<T, never>;
  readonly response: ProtobufMessage<unknown, D>;
}) => ({
  path: rpc.path,
  requestSerialize: () => Buffer.alloc(0),
  requestDeserialize: (bytes: Buffer) => rpc.request.decode(bytes),
  responseSerialize: (value: unknown) => Buffer.from(rpc.response.encode(value as D)),
  responseDeserialize: () => undefined,
});
