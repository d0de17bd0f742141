// A forwarder in a process of its own, for a node whose network this process is not in. The two talk by messages.
import type { ChildProcess } from "node:child_process";
import type { Clock } from "#base/clock.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Forwarder, Portal } from "../forwarder.ts";
import { Forwarding } from "./forwarding.ts";

type ForwarderRequest = { readonly id: number } & (
  | { readonly open: readonly Portal[] }
  | { readonly close: readonly string[] }
);

interface ForwarderReply {
  readonly id: number;
  readonly ports?: readonly number[];
  readonly error?: string;
}

/** Starts the process when there is something to carry, and again after it has ended. */
export class ForwarderProcess implements Forwarder {
  readonly #start: () => ChildProcess;
  #child: ChildProcess | undefined;
  #next = 0;
  readonly #waiting = new Map<number, PromiseWithResolvers<readonly number[]>>();

  /** `start` runs `serveForwarding` on the node, in a child with a channel for messages. */
  constructor(start: () => ChildProcess) {
    this.#start = start;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  open(portals: readonly Portal[], signal: AbortSignal): Promise<readonly number[]> {
    return this.#ask({ open: portals }, signal);
  }

  async close(keys: readonly string[], signal: AbortSignal): Promise<void> {
    if (this.#child) await this.#ask({ close: keys }, signal);
  }

  /** Ends the process, and with it all connections. */
  async end(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    child.once("exit", () => resolve());
    child.kill();
    await promise;
  }

  #ask(
    what: { readonly open: readonly Portal[] } | { readonly close: readonly string[] },
    signal: AbortSignal,
  ): Promise<readonly number[]> {
    const child = this.#child ?? this.#begin();
    const id = this.#next++;
    const reply = Promise.withResolvers<readonly number[]>();
    this.#waiting.set(id, reply);
    child.send({ id, ...what } satisfies ForwarderRequest, (error) => {
      if (error) reply.reject(new Error("tell the process that carries connections", { cause: error }));
    });
    return unlessAborted(reply.promise, signal).finally(() => this.#waiting.delete(id));
  }

  #begin(): ChildProcess {
    const child = this.#start();
    this.#child = child;
    const lose = (cause?: unknown) => {
      if (this.#child === child) this.#child = undefined;
      const error = new Error("the process that carries connections has ended", { cause });
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    };
    child.once("error", lose);
    child.once("exit", (code) => lose(code));
    child.on("message", (message) => {
      const { id, ports = [], error } = message as ForwarderReply; // our own process sends nothing else
      const reply = this.#waiting.get(id);
      if (error === undefined) reply?.resolve(ports);
      else reply?.reject(new Error(`carry connections: ${error}`));
    });
    return child;
  }
}

/** What the child does: it carries connections until whoever started it is gone. */
export async function serveForwarding(clock: Clock): Promise<void> {
  const forwarding = new Forwarding(clock);
  const gone = Promise.withResolvers<void>();
  process.once("disconnect", () => gone.resolve());
  process.on("message", async (message) => {
    const request = message as ForwarderRequest; // our own parent sends nothing else
    try {
      const ports = "open" in request ? await forwarding.open(request.open) : [];
      if ("close" in request) await forwarding.close(request.close);
      process.send?.({ id: request.id, ports } satisfies ForwarderReply);
    } catch (error) {
      process.send?.({ id: request.id, error: String(error) } satisfies ForwarderReply);
    }
  });
  await gone.promise;
  process.exit(0); // with all connections: nobody would tell where new ones go
}
