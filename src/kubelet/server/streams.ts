// What can be asked of a container while it runs. A runtime over CRI hands these to the runtime's own streaming server.
import type { ByteStream } from "#wire/streams/byte-stream.ts";
import type { RemoteCommandStreams, StreamStatus } from "#wire/streams/remote-command.ts";

export interface LogLine {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Without its newline. */
  readonly text: string;
}

/** The log of one run of a container. */
export interface ContainerLog {
  /** What has been written so far. */
  readonly past: readonly LogLine[];
  /** What is written from then on, until the container ends. */
  readonly live: AsyncIterable<LogLine>;
}

export interface ContainerStreams {
  log(id: string, signal: AbortSignal): Promise<ContainerLog>;
  /** Runs a command to its end. */
  exec(
    id: string,
    command: readonly string[],
    streams: RemoteCommandStreams,
    signal: AbortSignal,
  ): Promise<StreamStatus>;
  /** Joins the container's own process. */
  attach(id: string, streams: RemoteCommandStreams, signal: AbortSignal): Promise<StreamStatus>;
  portForward(podUid: string, port: number, stream: ByteStream, signal: AbortSignal): Promise<void>;
}
