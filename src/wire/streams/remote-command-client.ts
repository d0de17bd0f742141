// The client's side of exec and attach over SPDY, protocol v4: what every kubelet understands.
import { parseJson } from "#schema/json.ts";
import {
  failureStatus,
  type RemoteCommandOptions,
  type RemoteCommandStreams,
  type StreamStatus,
  streamTypes,
  type TerminalSize,
} from "./remote-command.ts";
import type { SpdyConnection, SpdyStream } from "./spdy.ts";
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
  // A command that is over at once may close the connection before this arrives; all it said can be read all the same.
  for (const stream of [errors, stdout, stderr]) stream?.end().catch(() => undefined);

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

async function sendStdin(from: AsyncIterable<Uint8Array>, to: SpdyStream): Promise<void> {
  for await (const part of from) await to.write(part);
  await to.end();
}

async function sendSizes(sizes: AsyncIterable<TerminalSize>, to: SpdyStream): Promise<void> {
  const encoder = new TextEncoder();
  for await (const { width, height } of sizes)
    await to.write(encoder.encode(`${JSON.stringify({ Width: width, Height: height })}\n`));
}

async function copyOut(from: SpdyStream, to: (bytes: Uint8Array) => Promise<void>): Promise<void> {
  for await (const part of from.input) await to(part);
}

async function statusFrom(errors: SpdyStream): Promise<StreamStatus> {
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
