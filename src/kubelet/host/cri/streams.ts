// Logs from the files a runtime writes, and commands over the runtime's own streaming server.
import { request } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "#base/clock.ts";
import { socketStream } from "#wire/host/streams/socket-stream.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import { type ByteStream, copy, copyBytes } from "#wire/streams/byte-stream.ts";
import { runOverSpdy } from "#wire/streams/remote-command-client.ts";
import { SpdyConnection } from "#wire/streams/spdy.ts";
import type { ContainerStreams } from "../../server/streams.ts";
import { CriError, criCode } from "./connection.ts";
import { readLog } from "./log-file.ts";
import type { CriRuntime, StreamRequest } from "./runtime.ts";

/** Where a runtime's streaming server listens. */
export interface StreamAddress {
  readonly host: string;
  readonly port: number;
}
/** Connects to the streaming server, where it is not in the network of this process. */
export type DialRuntime = (address: StreamAddress, signal: AbortSignal) => Promise<Socket>;

export function criStreams(runtime: CriRuntime, clock: Clock, dial?: DialRuntime): ContainerStreams {
  const talk = async <T>(
    streamRequest: StreamRequest,
    protocol: string,
    run: (spdy: SpdyConnection) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> => {
    const connection = await upgrade(await runtime.streamTo(streamRequest, signal), protocol, dial, signal);
    const spdy = new SpdyConnection({ connection, role: "client", compression: spdyCompression(), cancelEnds: true });
    const aborted = () => connection.destroy(new Error("the client is gone"));
    signal.addEventListener("abort", aborted, { once: true });
    const over = spdy.run().catch(() => undefined); // an error of the connection also fails the streams below
    try {
      return await run(spdy);
    } finally {
      signal.removeEventListener("abort", aborted);
      connection.destroy();
      await over;
    }
  };
  return {
    async log(id, query, signal) {
      const { path } = await runtime.logOf(id, signal);
      const isRunning = async () => {
        try {
          return (await runtime.logOf(id, signal)).isRunning;
        } catch (error) {
          // Containers go on while their runtime is away.
          return error instanceof CriError && error.code === criCode.unavailable;
        }
      };
      return readLog({ path, isRunning, clock }, query, signal);
    },
    exec: (target, command, streams, signal) =>
      talk(
        { type: "exec", target, command },
        "v4.channel.k8s.io",
        (spdy) => runOverSpdy(spdy, target.options, streams),
        signal,
      ),
    attach: (target, streams, signal) =>
      talk(
        { type: "attach", target },
        "v4.channel.k8s.io",
        (spdy) => runOverSpdy(spdy, target.options, streams),
        signal,
      ),
    portForward: (sandbox, port, stream, signal) =>
      talk({ type: "portForward", sandbox }, "portforward.k8s.io", (spdy) => forwardPort(spdy, port, stream), signal),
  };
}

async function forwardPort(spdy: SpdyConnection, port: number, stream: ByteStream): Promise<void> {
  const headers = { port: String(port), requestid: "0" };
  const errors = await spdy.open({ ...headers, streamtype: "error" });
  const data = await spdy.open({ ...headers, streamtype: "data" });
  await errors.end();
  // Not awaited: a client may go on sending when the pod is done.
  copy(stream, data).catch(() => data.destroy());
  const received = copyBytes(data, stream);
  received.catch(() => undefined); // awaited below
  // The runtime may end the data before it says on the error stream that the port refused. The client must not see that end first:
  // kubectl then cancels the pair, and never learns why.
  const failure = await textOf(errors);
  if (failure !== "") throw new Error(failure.replace(/^error forwarding port \d+ to pod [^:]*: /, ""));
  await received;
  await stream.end();
}

async function textOf({ input }: ByteStream): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of input) text += decoder.decode(part, { stream: true });
  return text;
}

/** A connection to the runtime's streaming server that speaks SPDY from now on. */
async function upgrade(
  url: string,
  protocol: string,
  dial: DialRuntime | undefined,
  signal: AbortSignal,
): Promise<ByteStream> {
  const { hostname, port } = new URL(url);
  const connection = await dial?.({ host: hostname, port: Number(port) }, signal);
  return new Promise((resolve, reject) => {
    const headers = { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": protocol };
    const through = connection ? { createConnection: () => connection } : { agent: false as const };
    const upgradeRequest = request(url, { method: "POST", headers, signal, ...through });
    upgradeRequest.on("error", reject);
    upgradeRequest.on("response", (response) => {
      response.resume();
      reject(new Error(`the runtime answered with ${response.statusCode} instead of a stream`));
    });
    upgradeRequest.on("upgrade", (_response, socket, head) => resolve(socketStream(socket, head)));
    upgradeRequest.end();
  });
}
