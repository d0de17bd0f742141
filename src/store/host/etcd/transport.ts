// gRPC to one member of an etcd cluster. The only file that knows @grpc/grpc-js.
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  connectivityState,
  credentials,
  Metadata,
} from "@grpc/grpc-js";
import type { Clock } from "#base/clock.ts";
import { type EtcdRpc, rpcs } from "./messages.ts";

export interface EtcdTlsOptions {
  /** PEM of the authorities that may sign the servers' certificates; defaults to those the system trusts. */
  readonly ca?: string;
  /** PEM of the client's own certificate and key, by which etcd knows who we are. */
  readonly cert?: string;
  readonly key?: string;
}

/** A call that ended without an answer, or with a refusal. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export interface EtcdCallLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A stream of requests and responses. Reading pulls: what is not read waits at the server. */
export interface RpcStream<D, T> extends AsyncIterable<T> {
  send(draft: D): void;
  /** Ends the stream; whoever reads it gets the error. */
  fail(error: Error): void;
}

/** gRPC's status codes that matter here. */
export const rpcCode = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  aborted: 10,
  outOfRange: 11,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
} as const;

/** One connection, made when first needed and made again when lost. */
export class EtcdConnection {
  readonly #client: Client;
  readonly #clock: Clock;
  /** A member that has lost its cluster must say so, instead of waiting for a leader. */
  readonly #metadata = new Metadata();
  /** How to end each call under way. */
  readonly #calls = new Set<(reason: unknown) => void>();

  constructor(endpoint: string, tls: EtcdTlsOptions | undefined, clock: Clock) {
    const { host, isSecure } = parseEndpoint(endpoint);
    const [identity, options] = isSecure ? secure(endpoint, tls) : [credentials.createInsecure(), {}];
    this.#client = new Client(`dns:${host}`, identity, { ...channelOptions, ...options });
    this.#metadata.set("hasleader", "true");
    this.#clock = clock;
  }

  get isReady(): boolean {
    return this.#client.getChannel().getConnectivityState(true) === connectivityState.READY;
  }

  /** Resolves when requests can be sent; rejects with the reason when that is not so in time. */
  async connect({ timeoutMs, signal }: EtcdCallLimits): Promise<void> {
    const start = this.#clock.elapsed();
    const state = await this.#settled({ timeoutMs, signal });
    signal?.throwIfAborted();
    if (state === connectivityState.READY) return;
    if (state !== connectivityState.TRANSIENT_FAILURE)
      throw new RpcError(rpcCode.unavailable, `no connection within ${Math.round(timeoutMs)} ms`);
    // The channel does not tell why, but a call does; should it get through after all, so much the better.
    const leftMs = Math.max(1, timeoutMs - (this.#clock.elapsed() - start));
    await this.call(rpcs.status, {}, { timeoutMs: leftMs, signal });
  }

  /** The state of the channel once it is no longer about to change, or when there is no time left. */
  #settled({ timeoutMs, signal }: EtcdCallLimits): Promise<connectivityState> {
    const channel = this.#client.getChannel();
    return new Promise((resolve) => {
      let state = channel.getConnectivityState(true);
      let isOver = false;
      const finish = () => {
        isOver = true;
        cancelTimer();
        signal?.removeEventListener("abort", finish);
        resolve(state);
      };
      const cancelTimer = this.#clock.after(timeoutMs, finish);
      signal?.addEventListener("abort", finish, { once: true });
      const look = () => {
        if (isOver) return;
        state = channel.getConnectivityState(true);
        const isChanging = state === connectivityState.IDLE || state === connectivityState.CONNECTING;
        if (isChanging) channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, look);
        else finish();
      };
      look();
    });
  }

  call<D, T>(rpc: EtcdRpc<D, T>, draft: D, { timeoutMs, signal }: EtcdCallLimits): Promise<T> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const finish = () => {
        this.#calls.delete(giveUp);
        cancelTimer();
        signal?.removeEventListener("abort", aborted);
      };
      const call = this.#client.makeUnaryRequest<Buffer, T>(
        rpc.path,
        (bytes) => bytes,
        (bytes) => rpc.response.decode(bytes),
        buffer(rpc.request.encode(draft)),
        this.#metadata,
        (error, value) => {
          finish();
          if (error) reject(new RpcError(error.code, error.details));
          else if (value === undefined) reject(new RpcError(rpcCode.internal, "an answer without a message"));
          else resolve(value);
        },
      );
      const giveUp = (reason: unknown) => {
        finish();
        reject(reason);
        call.cancel();
      };
      const aborted = () => giveUp(signal?.reason);
      const cancelTimer = this.#clock.after(timeoutMs, () =>
        giveUp(new RpcError(rpcCode.deadlineExceeded, `no answer within ${Math.round(timeoutMs)} ms`)),
      );
      signal?.addEventListener("abort", aborted, { once: true });
      this.#calls.add(giveUp);
    });
  }

  stream<D, T>(rpc: EtcdRpc<D, T>): RpcStream<D, T> {
    const call = this.#client.makeBidiStreamRequest<D, T>(
      rpc.path,
      (value) => buffer(rpc.request.encode(value)),
      (bytes) => rpc.response.decode(bytes),
      this.#metadata,
    );
    // Cancelling is reported as an error too, also when nobody reads any more.
    call.on("error", () => undefined);
    let failure: Error | undefined;
    return {
      send: (draft) => {
        call.write(draft);
      },
      fail(error) {
        failure ??= error;
        call.cancel();
      },
      async *[Symbol.asyncIterator]() {
        try {
          yield* call;
        } catch (error) {
          throw failure ?? rpcError(error);
        } finally {
          call.cancel();
        }
        throw failure ?? new RpcError(rpcCode.unavailable, "the server ended the stream");
      },
    };
  }

  close(): void {
    for (const giveUp of this.#calls) giveUp(new RpcError(rpcCode.cancelled, "the connection is closed"));
    this.#client.close();
  }
}

/** The host and port of `http://host:port` or `https://host:port`; throws for anything else. */
export function parseEndpoint(endpoint: string): { host: string; isSecure: boolean } {
  const url = URL.parse(endpoint);
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:") || url.hostname === "" || url.username !== "")
    throw new Error(
      `etcd endpoint ${JSON.stringify(endpoint)} is not of the form http://host:port or https://host:port`,
    );
  if ((url.pathname !== "/" && url.pathname !== "") || url.search !== "" || url.hash !== "")
    throw new Error(`etcd endpoint ${JSON.stringify(endpoint)} must not have a path`);
  const isSecure = url.protocol === "https:";
  return { host: `${url.hostname}:${url.port || (isSecure ? "443" : "80")}`, isSecure };
}

function secure(endpoint: string, tls: EtcdTlsOptions | undefined): [ChannelCredentials, ChannelOptions] {
  const pem = (text: string | undefined) => (text === undefined ? null : Buffer.from(text));
  if ((tls?.cert === undefined) !== (tls?.key === undefined))
    throw new Error(`etcd endpoint ${endpoint}: a client certificate and its key are needed together`);
  const make = (verify = {}) => credentials.createSsl(pem(tls?.ca), pem(tls?.key), pem(tls?.cert), verify);
  const address = new URL(endpoint).hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(address) === 0) return [make(), {}];
  // TLS forbids to name an address as the server wanted; so a made-up name is sent, and the address is checked.
  return [
    make({ checkServerIdentity: (_name: string, peer: PeerCertificate) => checkServerIdentity(address, peer) }),
    { "grpc.ssl_target_name_override": "etcd" },
  ];
}

const channelOptions = {
  // Each connection is its own: a reader who pauses holds up nobody else.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_http_proxy": 0,
  "grpc.service_config_disable_resolution": 1,
  "grpc.enable_retries": 0,
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
  // etcd ends connections that ask more often than every five seconds.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 2_000,
};

const buffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function rpcError(error: unknown): unknown {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "number") return error;
  const details = "details" in error && typeof error.details === "string" ? error.details : error.message;
  return new RpcError(error.code, details);
}
