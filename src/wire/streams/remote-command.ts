// The server's side of exec and attach: whatever the client speaks, the one who runs the command sees its streams.
//
//   WebSocket   (none), channel.k8s.io, base64.channel.k8s.io    errors as text
//               v4.channel.k8s.io, v4.base64.channel.k8s.io      errors as Status, with the exit code
//               v5.channel.k8s.io                                and the client can end stdin
//   SPDY/3.1    channel.k8s.io, v2.channel.k8s.io                errors as text
//               v3.channel.k8s.io                                and a terminal can be resized
//               v4.channel.k8s.io                                errors as Status, with the exit code
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { parseJson } from "#schema/json.ts";
import type { HttpResponse } from "../http.ts";
import { ByteQueue } from "./byte-queue.ts";
import { type ByteStream, serveWhileMoving } from "./byte-stream.ts";
import { closesChannels, decodeChannelMessage, sendOnChannel } from "./channels.ts";
import { type SpdyCompression, SpdyConnection, type SpdyStream } from "./spdy.ts";
import { acceptSpdy } from "./spdy-upgrade.ts";
import { acceptWebSocket, isWebSocketRequest, type WebSocket } from "./websocket.ts";

/** Which streams are wanted. With a terminal there is no stderr: a terminal has one output. */
export interface RemoteCommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

export interface RemoteCommandStreams {
  readonly stdin: AsyncIterable<Uint8Array> | undefined;
  /** Resolves when there is room for more. */
  readonly stdout: ((bytes: Uint8Array) => Promise<void>) | undefined;
  readonly stderr: ((bytes: Uint8Array) => Promise<void>) | undefined;
  readonly resizes: AsyncIterable<TerminalSize>;
}

/** How it ended, as the error stream says it from v4 on. */
export interface StreamStatus {
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes: readonly { readonly reason: string; readonly message: string }[] };
  readonly code?: number;
}

/** Runs the command and resolves with how it ended, all output written. The signal aborts when the client is gone. */
export type RemoteCommand = (streams: RemoteCommandStreams, signal: AbortSignal) => Promise<StreamStatus>;

export const exitStatus = (exitCode: number): StreamStatus =>
  exitCode === 0
    ? { status: "Success" }
    : {
        status: "Failure",
        message: `command terminated with non-zero exit code: exit status ${exitCode}`,
        reason: "NonZeroExitCode",
        details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] },
      };

export const failureStatus = (why: string): StreamStatus => ({
  status: "Failure",
  message: `Internal error occurred: ${why}`,
  reason: "InternalError",
  code: 500,
});

export interface RemoteCommandServer {
  readonly streams: RemoteCommandOptions;
  readonly run: RemoteCommand;
  readonly compression: () => SpdyCompression;
  readonly clock: Clock;
  /** What is spoken over a WebSocket; defaults to all there is. */
  readonly webSocketProtocols?: readonly string[];
  /** How long the client may take to open its streams. */
  readonly creationMs?: number;
  /** How long nothing may move before the connection is dropped. */
  readonly idleMs?: number;
}

const webSocketProtocols = [
  "",
  "channel.k8s.io",
  "base64.channel.k8s.io",
  "v4.channel.k8s.io",
  "v4.base64.channel.k8s.io",
  "v5.channel.k8s.io",
];
const spdyProtocols = ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"];
const [stdinChannel, stdoutChannel, stderrChannel, errorChannel, resizeChannel] = [0, 1, 2, 3, 4];
const hasStatus = (protocol: string): boolean => /^v[45]\./.test(protocol);
/** What may wait for a command that does not read its stdin before the client has to. */
const stdinLimit = 256 * 1024;
const fourHours = 4 * 3600 * 1000;

/** The options in the query of a kubelet's request, or why they make no sense. */
export function remoteCommandOptions(query: URLSearchParams): RemoteCommandOptions | string {
  const asked = (name: string) => query.get(name) === "1" || query.get(name) === "true";
  const tty = asked("tty");
  const [stdin, stdout, stderr] = [asked("input"), asked("output"), asked("error") && !tty];
  if (!stdin && !stdout && !stderr) return "you must specify at least 1 of stdin, stdout, stderr";
  return { stdin, stdout, stderr, tty };
}

/** The answer to a request to run or attach to a command: the upgrade, or why not. */
export async function serveRemoteCommand(
  request: { readonly headers: Readonly<Record<string, string | undefined>> },
  server: RemoteCommandServer,
): Promise<HttpResponse> {
  const { clock, idleMs = fourHours } = server;
  const response = isWebSocketRequest(request)
    ? await acceptWebSocket(request.headers, {
        protocols: server.webSocketProtocols ?? webSocketProtocols,
        serve: (socket, protocol) => overWebSocket(socket, protocol, server),
      })
    : acceptSpdy(request.headers, {
        protocols: spdyProtocols,
        serve: (connection, protocol) => overSpdy(connection, protocol, server),
      });
  const { upgraded } = response;
  return upgraded ? { ...response, upgraded: (stream) => serveWhileMoving(stream, clock, idleMs, upgraded) } : response;
}

async function overWebSocket(
  socket: WebSocket,
  protocol: string,
  { streams, run }: RemoteCommandServer,
): Promise<void> {
  const gone = new AbortController();
  const [stdin, resizes] = [new ByteQueue(stdinLimit), new ByteQueue(stdinLimit)];
  const queues = new Map([
    [stdinChannel, stdin],
    [resizeChannel, resizes],
  ]);
  const send = (channel: number) => (data: Uint8Array) => sendOnChannel(socket, protocol, channel, data);
  const reading = (async () => {
    for await (const message of socket.messages) {
      const event = decodeChannelMessage(protocol, message);
      const queue = event && queues.get(event.channel);
      if (event?.type === "data") await queue?.push(event.data);
      else queue?.end();
    }
  })();
  const over = (error: unknown) => {
    const reason = error instanceof Error ? error : new Error("the client is gone");
    // Before v5, closing the connection was the only way to say that stdin had ended.
    if (!closesChannels(protocol) && !(error instanceof Error)) stdin.end();
    for (const queue of queues.values()) queue.fail(reason);
    gone.abort(reason);
  };
  reading.then(over, over);

  // The first message tells the client that the connection stands.
  const lowest = streams.stdout ? stdoutChannel : streams.stderr ? stderrChannel : errorChannel;
  await send(lowest)(new Uint8Array());
  const status = await outcome(run, gone.signal, {
    stdin: streams.stdin ? stdin : undefined,
    stdout: streams.stdout ? send(stdoutChannel) : undefined,
    stderr: streams.stderr ? send(stderrChannel) : undefined,
    resizes: terminalSizes(resizes),
  });
  if (gone.signal.aborted) return;
  const text = statusText(protocol, status);
  if (text !== undefined) await send(errorChannel)(text);
  await socket.close();
}

async function overSpdy(connection: ByteStream, protocol: string, server: RemoteCommandServer): Promise<void> {
  const { streams: wanted, run, compression, clock, creationMs = 30_000 } = server;
  const gone = new AbortController();
  const resizable = wanted.tty && /^v[34]\./.test(protocol);
  const expected = ["error", ...streamTypes(wanted), ...(resizable ? ["resize"] : [])];
  const streams = new Map<string, SpdyStream>();
  const complete = Promise.withResolvers<void>();
  const spdy = new SpdyConnection({
    connection,
    role: "server",
    compression: compression(),
    streamLimit: 10,
    accept(stream) {
      const type = stream.headers.streamtype ?? "";
      if (streams.has(type)) throw new Error(`stream ${JSON.stringify(type)} is open already`);
      streams.set(type, stream);
      if (expected.every((name) => streams.has(name))) complete.resolve();
    },
  });
  const over = (error: unknown) => {
    const reason = error instanceof Error ? error : new Error("the client is gone");
    gone.abort(reason);
    complete.reject(reason);
  };
  spdy.run().then(over, over);
  const cancel = clock.after(creationMs, () =>
    complete.reject(new Error("timed out waiting for client to create streams")),
  );
  try {
    await complete.promise;
  } catch (error) {
    connection.destroy();
    throw error;
  } finally {
    cancel();
  }

  const [stdin, stdout, stderr, errors, resize] = ["stdin", "stdout", "stderr", "error", "resize"].map((type) =>
    streams.get(type),
  );
  const status = await outcome(run, gone.signal, {
    stdin: wanted.stdin ? stdin?.input : undefined,
    stdout: wanted.stdout && stdout ? (bytes) => stdout.write(bytes) : undefined,
    stderr: wanted.stderr && stderr ? (bytes) => stderr.write(bytes) : undefined,
    resizes: terminalSizes(resize?.input ?? none()),
  });
  if (gone.signal.aborted) return;
  const text = statusText(protocol, status);
  if (text !== undefined) await errors?.write(text);
  for (const stream of [stdout, stderr, errors]) await stream?.end();
  await spdy.close();
}

export const streamTypes = ({ stdin, stdout, stderr }: RemoteCommandOptions): readonly string[] => [
  ...(stdin ? ["stdin"] : []),
  ...(stdout ? ["stdout"] : []),
  ...(stderr ? ["stderr"] : []),
];

async function outcome(run: RemoteCommand, signal: AbortSignal, streams: RemoteCommandStreams): Promise<StreamStatus> {
  try {
    return await run(streams, signal);
  } catch (error) {
    return failureStatus(explain(error));
  }
}

/** What goes onto the error stream; the protocols before v4 are silent about success. */
function statusText(protocol: string, status: StreamStatus): Uint8Array | undefined {
  const text = new TextEncoder();
  if (hasStatus(protocol)) return text.encode(JSON.stringify({ metadata: {}, ...status }));
  return status.status === "Success" ? undefined : text.encode(status.message ?? "");
}

/** Sizes come as JSON objects, one after the other. What is no size is passed over. */
async function* terminalSizes(input: AsyncIterable<Uint8Array>): AsyncGenerator<TerminalSize> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of input) {
    text += decoder.decode(part, { stream: true });
    for (const match of text.matchAll(/\{[^{}]*\}/g)) {
      const size = sizeOf(match[0]);
      if (size) yield size;
    }
    text = text.slice(text.lastIndexOf("}") + 1).slice(-1024);
  }
}

function sizeOf(text: string): TerminalSize | undefined {
  try {
    const { Width: width, Height: height } = parseJson(text).value as Record<string, unknown>;
    return isDimension(width) && isDimension(height) ? { width, height } : undefined;
  } catch {
    return undefined; // not JSON, so no size
  }
}

const isDimension = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 65535;

async function* none(): AsyncGenerator<Uint8Array> {
  yield* [];
}
