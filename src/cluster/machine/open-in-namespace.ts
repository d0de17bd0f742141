// Opens sockets inside a network namespace. Node cannot enter one, and the whole process would be in it; so a
// small child enters it, opens the sockets, hands them over and ends. A socket stays in the namespace it was opened in.
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:dgram";
import { existsSync } from "node:fs";
import type { Socket as Connection, Server } from "node:net";
import type { ListenHandle } from "#serving/host/https/front.ts";

export interface SocketRequest {
  readonly address: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Defaults to TCP. A connection goes to the address, the others listen there. */
  readonly protocol?: "tcp" | "udp" | "connection";
}

/** Nothing is accepted from a handle before a server takes it: connections wait in the kernel's backlog. */
export type OpenedSocket = { readonly address: string; readonly port: number } & (
  | { readonly protocol: "tcp"; readonly handle: ListenHandle }
  | { readonly protocol: "udp"; readonly socket: Socket }
  | { readonly protocol: "connection"; readonly socket: Connection }
);

/** What the child reports of each socket, in the order of the requests. */
type ChildReport =
  | { readonly is: "open"; readonly port: number }
  | { readonly is: "failed"; readonly code: string; readonly message: string };

/** Timeout of the child, which takes 50 ms. */
const childTimeoutMs = 20_000;

/**
 * What the child does. It is handed over as text, and so may use nothing of this file: to load one, with its types to be taken out,
 * would take three times as long.
 */
function openSocketsInChild(): void {
  const tell = (report: ChildReport, given?: unknown): Promise<void> =>
    new Promise((resolve, reject) => {
      process.send?.(report, given as Server | undefined, {}, (error) => (error ? reject(error) : resolve()));
    });
  const opened = (one: Server | Socket): Promise<void> =>
    new Promise((resolve, reject) => one.once("listening", resolve).once("error", reject));
  const open = async ({ address, port, protocol = "tcp" }: SocketRequest): Promise<void> => {
    if (protocol === "udp") {
      const { createSocket } = process.getBuiltinModule("node:dgram");
      const socket = createSocket(address.includes(":") ? "udp6" : "udp4").bind(port, address);
      await opened(socket);
      return tell({ is: "open", port: socket.address().port }, socket);
    }
    const { connect, createServer } = process.getBuiltinModule("node:net");
    if (protocol === "connection") {
      const connection = connect(port, address);
      await new Promise((resolve, reject) => connection.once("connect", resolve).once("error", reject));
      return tell({ is: "open", port }, connection);
    }
    const server = createServer().listen(port, address);
    await opened(server);
    const bound = server.address();
    // The handle and not the server, which would accept connections as soon as it arrives, before a handler is there.
    const { _handle: handle } = server as Server & { readonly _handle: unknown };
    return tell({ is: "open", port: typeof bound === "object" && bound ? bound.port : port }, handle);
  };
  process.once("disconnect", () => process.exit(1)); // the parent is gone
  process.once("message", async (requests: readonly SocketRequest[]) => {
    try {
      for (const one of requests) await open(one);
    } catch (error) {
      const { code = "", message } = error as NodeJS.ErrnoException;
      await tell({ is: "failed", code, message });
    }
    process.exit(0);
  });
}

/** Opens all of them or none. `namespace` is a name below /run/netns. */
export async function openInNamespace(
  namespace: string,
  requests: readonly SocketRequest[],
  signal: AbortSignal,
): Promise<readonly OpenedSocket[]> {
  signal.throwIfAborted();
  const path = `/run/netns/${namespace}`;
  if (!existsSync(path)) throw new Error(`network namespace ${namespace} does not exist`);
  const child = spawn("nsenter", [`--net=${path}`, process.execPath, "--eval", `(${openSocketsInChild})()`], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    env: {},
    signal,
    killSignal: "SIGKILL",
    timeout: childTimeoutMs,
  });
  const opened: OpenedSocket[] = [];
  try {
    await receiveSockets(child, namespace, requests, opened);
    signal.throwIfAborted();
    return opened;
  } catch (error) {
    for (const one of opened) discard(one);
    signal.throwIfAborted();
    throw error;
  }
}

function discard(one: OpenedSocket): void {
  if (one.protocol === "connection") one.socket.destroy();
  else (one.protocol === "tcp" ? one.handle : one.socket).close();
}

/** Resolves when the child is gone and has handed over everything. */
function receiveSockets(
  child: ChildProcess,
  namespace: string,
  requests: readonly SocketRequest[],
  opened: OpenedSocket[],
): Promise<void> {
  return new Promise((resolve, reject) => {
    let stderr = "";
    let failure: Error | undefined;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("message", (message, given) => {
      const request = requests[opened.length];
      const report = message as ChildReport;
      if (!request) return;
      if (report.is === "failed") failure = refusal(namespace, request, report);
      else opened.push(socketOf(request, report.port, given));
    });
    child.once("error", (cause) => {
      failure = new Error(`enter network namespace ${namespace} with nsenter`, { cause });
      if (child.pid === undefined) reject(failure);
    });
    child.once("close", (code, killed) => {
      if (opened.length === requests.length && !failure) return resolve();
      const why = stderr.trim() || (killed ? `it was ended by ${killed}` : `it ended with ${code}`);
      reject(failure ?? new Error(`listen in network namespace ${namespace}: ${why}`));
    });
    child.send([...requests], (error) => {
      if (error) failure ??= new Error(`listen in network namespace ${namespace}: ${stderr.trim() || error.message}`);
    });
  });
}

function socketOf({ address, protocol = "tcp" }: SocketRequest, port: number, given: unknown): OpenedSocket {
  if (protocol === "tcp") return { protocol, address, port, handle: given as ListenHandle };
  if (protocol === "udp") return { protocol, address, port, socket: given as Socket };
  return { protocol, address, port, socket: given as Connection };
}

function refusal(
  namespace: string,
  { address, port, protocol = "tcp" }: SocketRequest,
  { code, message }: ChildReport & { readonly is: "failed" },
): Error {
  if (protocol === "connection") return new Error(`connect in network namespace ${namespace}: ${message}`);
  const where = `${address.includes(":") ? `[${address}]` : address}:${port}/${protocol}`;
  if (code === "EADDRINUSE") return new Error(`${where} in network namespace ${namespace} is taken by another program`);
  if (code === "EADDRNOTAVAIL") return new Error(`network namespace ${namespace} has no address ${address}`);
  return new Error(`listen on ${where} in network namespace ${namespace}: ${message}`);
}
