// exec and attach: the streams of this process connected with those of a container. SPDY is what every server speaks.
import { ApiError } from "#base/errors.ts";
import { socketStream } from "#wire/host/streams/socket-stream.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import type { StreamStatus, TerminalSize } from "#wire/streams/remote-command.ts";
import { runOverSpdy } from "#wire/streams/remote-command-client.ts";
import { SpdyConnection } from "#wire/streams/spdy.ts";
import { ExitError, KubectlError } from "../../errors.ts";
import type { Io } from "../../io.ts";
import type { Query } from "../../rest/request.ts";
import type { Session } from "../../session.ts";

export interface RemoteStreams {
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** Whether a terminal can be had; what stands in the way is said. */
export function terminalFor(session: Session, { stdin, tty }: RemoteStreams, isQuiet: boolean): RemoteStreams {
  if (!stdin) return { stdin: false, tty: false };
  if (!tty || session.io.stdin.isTTY) return { stdin, tty };
  if (!isQuiet) session.printError("Unable to use a TTY - input is not a terminal or the right kind of file");
  return { stdin, tty: false };
}

/** A connection on which the server speaks SPDY; it is closed when `run` is over. */
export async function overSpdy<T>(
  session: Session,
  request: { readonly path: string; readonly query?: Query },
  protocols: readonly string[],
  run: (spdy: SpdyConnection) => Promise<T>,
): Promise<T> {
  const { socket, head } = await (await session.client()).upgrade({
    method: "POST",
    ...request,
    headers: { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": protocols.join(", ") },
  });
  const connection = socketStream(socket, head);
  const spdy = new SpdyConnection({ connection, role: "client", compression: spdyCompression(), cancelEnds: true });
  const over = spdy.run().catch(() => undefined); // an error of the connection also fails its streams
  const interrupted = () => connection.destroy(new Error("interrupted"));
  session.io.signal.addEventListener("abort", interrupted, { once: true });
  try {
    return await run(spdy);
  } finally {
    session.io.signal.removeEventListener("abort", interrupted);
    connection.destroy();
    await over;
  }
}

/** Rejects with ExitError if the command ended with another code than 0. */
export async function runRemote(
  session: Session,
  path: string,
  query: Query,
  { stdin, tty }: RemoteStreams,
): Promise<void> {
  const { io } = session;
  if (tty) io.stdin.setRawMode?.(true);
  try {
    const status = await overSpdy(session, { path, query }, ["v4.channel.k8s.io"], (spdy) =>
      runOverSpdy(
        spdy,
        { stdin, stdout: true, stderr: !tty, tty },
        {
          stdin: stdin ? io.stdin : undefined,
          stdout: async (bytes) => void io.stdout.write(bytes),
          stderr: tty ? undefined : async (bytes) => void io.stderr.write(bytes),
          resizes: tty ? sizes(io) : none(),
        },
      ),
    );
    raise(status);
  } finally {
    if (tty) io.stdin.setRawMode?.(false);
  }
}

async function* none(): AsyncGenerator<TerminalSize> {
  yield* [];
}

/** The size of the terminal now, and whenever it changes. */
async function* sizes(io: Io): AsyncGenerator<TerminalSize> {
  let changed = Promise.withResolvers<void>();
  const stop = io.onResize?.(() => changed.resolve());
  try {
    for (;;) {
      const { columns: width = 80, rows: height = 24 } = io.stdout;
      yield { width, height };
      await changed.promise;
      changed = Promise.withResolvers();
    }
  } finally {
    stop?.();
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
