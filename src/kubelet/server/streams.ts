// What can be asked of a container while it runs. A runtime over CRI hands these to the runtime's own streaming server.
import type { ByteStream } from "#wire/streams/byte-stream.ts";
import type { RemoteCommandOptions, RemoteCommandStreams, StreamStatus } from "#wire/streams/remote-command.ts";

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

/** Whom a client wants to talk to, and over which streams. */
export interface StreamTarget {
  /** Of the container at the runtime. */
  readonly id: string;
  readonly options: RemoteCommandOptions;
}

export interface ContainerStreams {
  log(id: string, signal: AbortSignal): Promise<ContainerLog>;
  /** Runs a command to its end. */
  exec(
    target: StreamTarget,
    command: readonly string[],
    streams: RemoteCommandStreams,
    signal: AbortSignal,
  ): Promise<StreamStatus>;
  /** Joins the container's own process. */
  attach(target: StreamTarget, streams: RemoteCommandStreams, signal: AbortSignal): Promise<StreamStatus>;
  /** `sandbox` is the pod's at the runtime. */
  portForward(sandbox: string, port: number, stream: ByteStream, signal: AbortSignal): Promise<void>;
}
