// gRPC to a container runtime, or to a plugin, over its socket.
import type { Socket } from "node:net";
import { type ChannelCredentials, Client, credentials, Metadata } from "@grpc/grpc-js";
import type { Clock } from "#base/clock.ts";
import type { CriRpc } from "./messages.ts";

/** A call that ended without an answer, or with a refusal. The message is the runtime's own. */
export class CriError extends Error {
  override readonly name = "CriError";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export const criCode = {
  unknown: 2,
  deadlineExceeded: 4,
  notFound: 5,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

const codeNames: readonly (string | undefined)[] = [
  "OK",
  "Canceled",
  "Unknown",
  "InvalidArgument",
  "DeadlineExceeded",
  "NotFound",
  "AlreadyExists",
  "PermissionDenied",
  "ResourceExhausted",
  "FailedPrecondition",
  "Aborted",
  "OutOfRange",
  "Unimplemented",
  "Internal",
  "Unavailable",
  "DataLoss",
  "Unauthenticated",
];

/** The error as programs in Go write it. */
export const rpcText = ({ code, message }: CriError): string =>
  `rpc error: code = ${codeNames[code] ?? `Code(${code})`} desc = ${message}`;

export interface CriCallLimits {
  /** Deadline of the call; Infinity for none. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export class CriConnection {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #metadata = new Metadata();

  /** `unix:///run/containerd/containerd.sock`. Each socket that is opened is passed to a callback. */
  constructor(
    endpoint: string,
    clock: Clock,
    onSocket?: (socket: Socket) => void,
    metadata: Readonly<Record<string, string>> = { "containerd-namespace": "k8s.io" },
  ) {
    if (!/^unix:\/\/\/./.test(endpoint)) throw new Error(`endpoint ${JSON.stringify(endpoint)} is no unix:///path`);
    this.#client = new Client(endpoint, onSocket ? seeing(onSocket) : credentials.createInsecure(), {
      "grpc.max_receive_message_length": 16 * 1024 * 1024,
      "grpc.use_local_subchannel_pool": 1,
      "grpc.service_config_disable_resolution": 1,
      "grpc.enable_retries": 0,
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 3000,
      "grpc.default_authority": "localhost",
    });
    for (const [key, value] of Object.entries(metadata)) this.#metadata.set(key, value);
    this.#clock = clock;
  }

  call<D, T>({ path, request, response }: CriRpc<D, T>, draft: D, { timeoutMs, signal }: CriCallLimits): Promise<T> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const finish = () => {
        cancelTimer();
        signal.removeEventListener("abort", aborted);
      };
      const call = this.#client.makeUnaryRequest<Buffer, T>(
        path,
        (bytes) => bytes,
        (bytes) => response.decode(bytes),
        buffer(request.encode(draft)),
        this.#metadata,
        (error, value) => {
          finish();
          if (error) reject(new CriError(error.code, error.details));
          else if (value === undefined) reject(new CriError(criCode.internal, "an answer without a message"));
          else resolve(value);
        },
      );
      const giveUp = (reason: unknown) => {
        finish();
        reject(reason);
        call.cancel();
      };
      const aborted = () => giveUp(signal.reason);
      const cancelTimer =
        timeoutMs === Number.POSITIVE_INFINITY
          ? () => undefined
          : this.#clock.after(timeoutMs, () =>
              giveUp(new CriError(criCode.deadlineExceeded, `no answer to ${path} within ${Math.round(timeoutMs)} ms`)),
            );
      signal.addEventListener("abort", aborted, { once: true });
    });
  }

  /** What the server sends until it ends the stream, or the signal aborts. */
  async *stream<D, T>({ path, request, response }: CriRpc<D, T>, draft: D, signal: AbortSignal): AsyncGenerator<T> {
    signal.throwIfAborted();
    const call = this.#client.makeServerStreamRequest<Buffer, T>(
      path,
      (bytes) => bytes,
      (bytes) => response.decode(bytes),
      buffer(request.encode(draft)),
      this.#metadata,
    );
    const aborted = () => call.cancel();
    signal.addEventListener("abort", aborted, { once: true });
    call.on("error", () => undefined); // the reader gets the error; after a cancel there is no reader
    try {
      yield* call;
    } catch (error) {
      signal.throwIfAborted();
      throw criError(error);
    } finally {
      signal.removeEventListener("abort", aborted);
      call.cancel();
    }
  }

  close(): void {
    this.#client.close();
  }
}

/** No credentials, but that is where grpc-js lets one meet its sockets. */
function seeing(onSocket: (socket: Socket) => void): ChannelCredentials {
  const none = credentials.createInsecure();
  const connectorOf = none._createSecureConnector.bind(none);
  none._createSecureConnector = (...args) => {
    const connector = connectorOf(...args);
    return {
      ...connector,
      connect(socket) {
        onSocket(socket);
        return connector.connect(socket);
      },
    };
  };
  return none;
}

const buffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function criError(error: unknown): unknown {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "number") return error;
  const details = "details" in error && typeof error.details === "string" ? error.details : error.message;
  return new CriError(error.code, details);
}
