// Serves gRPC at a socket of this machine, with messages declared as everywhere here.
import { Server, ServerCredentials, type ServiceError } from "@grpc/grpc-js";
import type { ProtobufMessage } from "#base/host/protobuf.ts";

/** An answer that refuses. */
export class GrpcFault extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export interface ServedRpc {
  readonly path: string;
  readonly decode: (bytes: Uint8Array) => unknown;
  readonly encode: (value: unknown) => Uint8Array;
  readonly answer: (request: unknown) => Promise<unknown>;
  /** Sends as often as it likes, instead of an answer. */
  readonly open?: (send: (value: unknown) => void) => void;
}

export const serving = <T, D>(
  rpc: {
    readonly path: string;
    readonly request: ProtobufMessage<T, never>;
    readonly response: ProtobufMessage<unknown, D>;
  },
  answer: (request: T) => Promise<D>,
): ServedRpc => ({
  path: rpc.path,
  decode: (bytes) => rpc.request.decode(bytes),
  encode: (value) => rpc.response.encode(value as D),
  answer: (request) => answer(request as T),
});

/** An rpc that answers with a stream. */
export const streaming = <D>(
  rpc: {
    readonly path: string;
    readonly request: ProtobufMessage<unknown, never>;
    readonly response: ProtobufMessage<unknown, D>;
  },
  open: (send: (value: D) => void) => void,
): ServedRpc => ({
  ...serving(rpc, () => Promise.reject(new Error("it is a stream"))),
  open,
});

export async function serveGrpc(socket: string, rpcs: readonly ServedRpc[]): Promise<Server> {
  const server = new Server();
  for (const [i, { path, decode, encode, answer, open }] of rpcs.entries())
    server.addService(
      {
        [`rpc${i}`]: {
          path,
          requestStream: false,
          responseStream: open !== undefined,
          requestSerialize: () => Buffer.alloc(0),
          requestDeserialize: decode,
          responseSerialize: (value: unknown) => Buffer.from(encode(value)),
          responseDeserialize: () => undefined,
        },
      },
      {
        [`rpc${i}`]: open
          ? (call: { write(value: unknown): void }) => open((value) => call.write(value))
          : (
              call: { readonly request: unknown },
              callback: (error: Partial<ServiceError> | null, value?: unknown) => void,
            ) => {
              answer(call.request).then(
                (value) => callback(null, value),
                (error: unknown) =>
                  callback({ code: error instanceof GrpcFault ? error.code : 13, details: (error as Error).message }),
              );
            },
      },
    );
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
  return server;
}
