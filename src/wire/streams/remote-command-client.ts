// The client's side of exec and attach: over a WebSocket, protocol v5, and over SPDY, protocol v4, which every kubelet understands.
import { parseJson } from "#schema/json.ts";
import { ByteQueue } from "./byte-queue.ts";
import { decodeChannelMessage, sendOnChannel } from "./channels.ts";
import {
  failureStatus,
  type RemoteCommandOptions,
  type RemoteCommandStreams,
  type StreamStatus,
  streamTypes,
  type TerminalSize,
} from "./remote-command.ts";
import type { SpdyConnection, SpdyStream } from "./spdy.ts";
import type { WebSocket } from "./websocket.ts";
import { concat } from "./websocket-frames.ts";

/** More than this is no Status. */
const statusLimit = 64 * 1024;

/** Connects the streams of a client with a command at the other end of `spdy`, and resolves with how it ended. */
export async function runOverSpdy(
  spdy: SpdyConnection,
  options: RemoteCommandOptions,
  streams: RemoteCommandStreams,
): Promise<StreamStatus> {
  const errors = await spdy.open({ streamtype: "error" });
  const opened = new Map<string, SpdyStream>();
  for (const type of [...streamTypes(options), ...(options.tty ? ["resize"] : [])])
    opened.set(type, await spdy.open({ streamtype: type }));
  const [stdin, stdout, stderr, resize] = ["stdin", "stdout", "stderr", "resize"].map((type) => opened.get(type));
  // What the client only reads is not ended by it: a command that is over at once closes the connection, and a write after that would
  // take with it what was received and not yet read.

  // Neither has to end before the command does; what breaks the connection breaks the reading below.
  if (stdin && streams.stdin) sendStdin(streams.stdin, stdin).catch(() => stdin.destroy());
  if (resize) sendSizes(streams.resizes, resize).catch(() => resize.destroy());
  const [status] = await Promise.all([
    statusFrom(errors),
    stdout && streams.stdout && copyOut(stdout, streams.stdout),
    stderr && streams.stderr && copyOut(stderr, streams.stderr),
  ]);
  return status;
}

/** The only protocol over a WebSocket in which the client can end stdin; servers without it are spoken to by SPDY. */
export const webSocketProtocol = "v5.channel.k8s.io";
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
const largestMessage = 32 * 1024;
const outputLimit = 1024 * 1024;

/** The same over a WebSocket that speaks v5. */
export async function runOverWebSocket(
  socket: WebSocket,
  options: RemoteCommandOptions,
  streams: RemoteCommandStreams,
): Promise<StreamStatus> {
  const send = (channel: number, data: Uint8Array) => sendOnChannel(socket, webSocketProtocol, channel, data);
  const outputs = new Map<number, ByteQueue>(
    [channels.stdout, channels.stderr, channels.error].map((channel) => [channel, new ByteQueue(outputLimit)]),
  );
  if (options.stdin && streams.stdin)
    sendParts(streams.stdin, (part) => send(channels.stdin, part))
      .then(() => socket.send("binary", new Uint8Array([255, channels.stdin])))
      .catch(() => undefined); // the command may be over before its input is; what breaks the connection breaks the reading
  if (options.tty) sendParts(sizeTexts(streams.resizes), (part) => send(channels.resize, part)).catch(() => undefined); // as above
  const reading = readChannels(socket, outputs);
  const [status] = await Promise.all([
    statusFrom({ input: outputs.get(channels.error) ?? [] }),
    passOn(outputs.get(channels.stdout), streams.stdout),
    passOn(outputs.get(channels.stderr), streams.stderr),
    reading,
  ]);
  return status;
}

/** Until the server closes; each output then ends, or fails with the connection. */
async function readChannels(socket: WebSocket, outputs: ReadonlyMap<number, ByteQueue>): Promise<void> {
  try {
    for await (const message of socket.messages) {
      const event = decodeChannelMessage(webSocketProtocol, message);
      if (event?.type === "data") await outputs.get(event.channel)?.push(event.data);
      else if (event) outputs.get(event.channel)?.end();
    }
    for (const output of outputs.values()) output.end();
  } catch (error) {
    const reason = error instanceof Error ? error : new Error(String(error));
    for (const output of outputs.values()) output.fail(reason);
    throw error;
  }
}

async function passOn(
  from: ByteQueue | undefined,
  to: ((bytes: Uint8Array) => Promise<void>) | undefined,
): Promise<void> {
  for await (const part of from ?? []) await to?.(part);
}

async function sendParts(from: AsyncIterable<Uint8Array>, send: (part: Uint8Array) => Promise<void>): Promise<void> {
  for await (const part of from)
    for (let at = 0; at < part.length; at += largestMessage) await send(part.subarray(at, at + largestMessage));
}

async function* sizeTexts(sizes: AsyncIterable<TerminalSize>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const { width, height } of sizes)
    yield encoder.encode(`${JSON.stringify({ Width: width, Height: height })}\n`);
}

async function sendStdin(from: AsyncIterable<Uint8Array>, to: SpdyStream): Promise<void> {
  for await (const part of from) await to.write(part);
  await to.end();
}

async function sendSizes(sizes: AsyncIterable<TerminalSize>, to: SpdyStream): Promise<void> {
  for await (const text of sizeTexts(sizes)) await to.write(text);
}

async function copyOut(from: SpdyStream, to: (bytes: Uint8Array) => Promise<void>): Promise<void> {
  for await (const part of from.input) await to(part);
}

async function statusFrom(errors: {
  readonly input: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}): Promise<StreamStatus> {
  let bytes: Uint8Array = new Uint8Array();
  for await (const part of errors.input) if (bytes.length < statusLimit) bytes = concat(bytes, part);
  const text = new TextDecoder().decode(bytes);
  if (text === "") return { status: "Success" };
  try {
    const { status, message, reason, details, code } = parseJson(text).value as StreamStatus;
    if (status !== "Success" && status !== "Failure") return failureStatus(text);
    return {
      status,
      ...(message !== undefined && { message }),
      ...(reason !== undefined && { reason }),
      ...(details !== undefined && { details }),
      ...(code !== undefined && { code }),
    };
  } catch {
    return failureStatus(`error stream protocol error: unknown error: ${text}`); // no JSON, as kubelets before v4 wrote it
  }
}
