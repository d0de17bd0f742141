// What can be asked of a container while it runs. A runtime over CRI hands these to the runtime's own streaming server.
import type { ByteStream } from "#wire/streams/byte-stream.ts";
import type { RemoteCommandOptions, RemoteCommandStreams, StreamStatus } from "#wire/streams/remote-command.ts";

/** A line of a log, or what of one was written at once. */
export interface LogEntry {
  /** When it was written, as it is shown: `2026-01-01T00:00:00.123456789Z`. */
  readonly time: string;
  /** As it was written, with the newline where the line ends. */
  readonly bytes: Uint8Array;
}

export interface LogQuery {
  /** Whether to go on with what is written from now on, until the container ends. */
  readonly follow: boolean;
  /** How many of the last lines to begin with; defaults to the whole log. */
  readonly tailLines: number | undefined;
}

/** Whom a client wants to talk to, and over which streams. */
export interface StreamTarget {
  /** Of the container at the runtime. */
  readonly id: string;
  readonly options: RemoteCommandOptions;
}

export interface ContainerStreams {
  /** The log of one run of a container, as it is read. */
  log(id: string, query: LogQuery, signal: AbortSignal): Promise<AsyncIterable<readonly LogEntry[]>>;
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
