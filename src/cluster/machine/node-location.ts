// Where a node is: how its programs are run there, and how its sockets are opened there. What a node is does not depend on it, so a
// node in a network namespace, and one that has a machine to itself, are run by the same code.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type ProgramOptions, runProgram } from "#base/host/run-program.ts";
import type { ListenHandle } from "#serving/host/https/front.ts";
import { networkAt } from "./processes.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** A server that has not begun to listen; it resolves with its port. */
export interface Listener {
  listen(port: number, host: string): Promise<number>;
  /** On a socket that was opened elsewhere. */
  listenOn(handle: ListenHandle): Promise<number>;
}

export interface NodeLocation {
  /** For messages. */
  readonly name: string;
  /** The command that runs this one there. */
  command(command: readonly string[]): readonly string[];
  /** Runs a program there to its end, and resolves with its output. */
  run(command: readonly string[], options?: ProgramOptions): Promise<string>;
  /** Connects from there: to servers that listen on its loopback, too. */
  dial(to: Address, signal: AbortSignal): Promise<Socket>;
  /** Has the server listen there, and resolves with its port. */
  listen(server: Listener, at: Address, signal: AbortSignal): Promise<number>;
  /** Whether the process has its network there. */
  holds(pid: number): boolean;
}

/** The machine that this process runs on. */
export const thisMachine: NodeLocation = {
  name: "this machine",
  command: (command) => command,
  run: runProgram,
  async dial({ host, port }, signal) {
    signal.throwIfAborted();
    const socket = connect(port, host);
    try {
      await once(socket, "connect", { signal });
      return socket;
    } catch (error) {
      socket.destroy();
      signal.throwIfAborted();
      throw error;
    }
  },
  listen: (server, { host, port }) => server.listen(port, host),
  holds: (pid) => networkAt(`/proc/${pid}/ns/net`) === networkAt("/proc/self/ns/net"),
};
