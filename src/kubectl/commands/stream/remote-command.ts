// exec and attach: the streams of this process, or of a part of it, connected with those of a container.
import { ApiError } from "#base/errors.ts";
import type { RemoteCommandStreams, StreamStatus } from "#wire/streams/remote-command.ts";
import { runOverSpdy, runOverWebSocket, webSocketProtocol } from "#wire/streams/remote-command-client.ts";
import { ExitError, KubectlError } from "../../errors.ts";
import { written } from "../../io.ts";
import type { Query } from "../../rest/request.ts";
import type { Session } from "../../session.ts";
import { isSwitchedOff, overSpdy, overWebSocket, type UpgradeRequest, withFallback } from "./connection.ts";
import { noSizes, type RemoteStreams, terminalSizes, withRawTerminal } from "./terminal.ts";

const spdyProtocol = "v4.channel.k8s.io";

export interface RemoteRun {
  readonly request: UpgradeRequest;
  readonly tty: boolean;
  readonly streams: RemoteCommandStreams;
}

/** Runs something in a container. Rejects with ExitError if it ended with another code than 0. */
export async function stream(session: Session, { request, tty, streams }: RemoteRun): Promise<void> {
  const options = {
    stdin: streams.stdin !== undefined,
    stdout: streams.stdout !== undefined,
    stderr: streams.stderr !== undefined,
    tty,
  };
  const status = await withFallback(
    !isSwitchedOff(session.io.env.KUBECTL_REMOTE_COMMAND_WEBSOCKETS),
    () => overWebSocket(session, request, webSocketProtocol, (socket) => runOverWebSocket(socket, options, streams)),
    () => overSpdy(session, request, spdyProtocol, (spdy) => runOverSpdy(spdy, options, streams)),
  );
  raise(status);
}

export interface PersonsRun extends RemoteStreams {
  readonly path: string;
  readonly query: Query;
  /** What is typed; the standard input unless given. */
  readonly input?: AsyncIterable<Uint8Array>;
  /** Whether what runs already is to draw its screen again. */
  readonly isRedrawn?: boolean;
  readonly signal?: AbortSignal;
}

/** The same with the streams of the person. */
export async function runRemote(
  session: Session,
  { path, query, stdin, tty, input, isRedrawn, signal }: PersonsRun,
): Promise<void> {
  const { io } = session;
  const run = () =>
    stream(session, {
      request: { path, query, ...(signal && { signal }) },
      tty,
      streams: {
        stdin: stdin ? (input ?? io.stdin) : undefined,
        stdout: (bytes) => written(io.stdout, bytes),
        stderr: tty ? undefined : (bytes) => written(io.stderr, bytes),
        resizes: tty ? terminalSizes(io, isRedrawn) : noSizes(),
      },
    });
  try {
    await (tty ? withRawTerminal(io, run) : run());
  } finally {
    // Nobody reads it any more, and an open terminal or pipe would keep the process alive.
    if (stdin) io.stdin.destroy?.();
  }
}

function raise(status: StreamStatus): void {
  if (status.status === "Success") return;
  const code = status.details?.causes.find(({ reason }) => reason === "ExitCode")?.message;
  if (status.reason === "NonZeroExitCode" && code !== undefined)
    throw new ExitError(Number(code), `command terminated with exit code ${code}`);
  if (status.reason !== undefined && status.code !== undefined)
    throw new ApiError({ code: status.code, reason: status.reason, message: status.message ?? "" });
  throw new KubectlError(status.message ?? "unknown error");
}
