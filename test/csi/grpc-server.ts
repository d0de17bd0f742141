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

export async function serveGrpc(socket: string, rpcs: readonly ServedRpc[]): Promise<Server> {
  const server = new Server();
  for (const [i, { path, decode, encode, answer }] of rpcs.entries())
    server.addService(
      {
        [`rpc${i}`]: {
          path,
          requestStream: false,
          responseStream: false,
          requestSerialize: () => Buffer.alloc(0),
          requestDeserialize: decode,
          responseSerialize: (value: unknown) => Buffer.from(encode(value)),
          responseDeserialize: () => undefined,
        },
      },
      {
        [`rpc${i}`]: (
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
