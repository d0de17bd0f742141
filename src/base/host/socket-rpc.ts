// gRPC to a service of the same machine, over its socket.
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import type { Clock } from "../clock.ts";
import type { ProtobufMessage } from "./protobuf.ts";

export interface SocketRpcOptions {
  /** `unix:///run/x.sock`, or `unix:///@name` for an abstract socket. */
  readonly endpoint: string;
  /** Like `v2.KeyManagementService`. */
  readonly service: string;
  /** Of each call. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

export interface SocketRpc {
  /** Rejects with the words of programs in Go. */
  call<D, T>(
    method: string,
    request: ProtobufMessage<unknown, D>,
    response: ProtobufMessage<T, unknown>,
    draft: D,
  ): Promise<T>;
  close(): void;
}

export function socketRpc({ endpoint, service, timeoutMs, clock }: SocketRpcOptions): SocketRpc {
  const client = new Client(addressOf(endpoint), credentials.createInsecure(), {
    "grpc.default_authority": "localhost",
    "grpc.use_local_subchannel_pool": 1,
    "grpc.service_config_disable_resolution": 1,
    "grpc.enable_retries": 0,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1000,
  });
  const metadata = new Metadata({ waitForReady: true });
  return {
    call: <D, T>(
      method: string,
      request: ProtobufMessage<unknown, D>,
      response: ProtobufMessage<T, unknown>,
      draft: D,
    ): Promise<T> =>
      new Promise((resolve, reject) => {
        const pending = client.makeUnaryRequest<Buffer, T>(
          `/${service}/${method}`,
          (message) => message,
          (message) => response.decode(message),
          Buffer.from(request.encode(draft)),
          metadata,
          (error, value) => {
            cancelTimer();
            if (error) reject(new Error(rpcText(error.code, error.details)));
            else if (value === undefined) reject(new Error(rpcText(13, "an answer without a message")));
            else resolve(value);
          },
        );
        const cancelTimer = clock.after(timeoutMs, () => {
          reject(new Error(rpcText(4, "context deadline exceeded")));
          pending.cancel();
        });
      }),
    close: () => client.close(),
  };
}

/** The endpoint was checked to be a URL whose scheme is unix. */
function addressOf(endpoint: string): string {
  const path = endpoint.replace(/^unix:(\/\/)?/, "");
  const [, name] = /^\/?@(.+)$/.exec(path) ?? [];
  return name === undefined ? `unix:${path}` : `unix-abstract:${name}`;
}

const codeNames: Readonly<Record<number, string>> = {
  1: "Canceled",
  2: "Unknown",
  3: "InvalidArgument",
  4: "DeadlineExceeded",
  5: "NotFound",
  7: "PermissionDenied",
  8: "ResourceExhausted",
  9: "FailedPrecondition",
  10: "Aborted",
  12: "Unimplemented",
  13: "Internal",
  14: "Unavailable",
  16: "Unauthenticated",
};

/** As programs in Go write it. */
const rpcText = (code: number, details: string): string =>
  `rpc error: code = ${codeNames[code] ?? `Code(${code})`} desc = ${details}`;
