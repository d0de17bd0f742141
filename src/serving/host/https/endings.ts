// How requests end: by their answers, because the client leaves, or because the server stops.
import type { Writable } from "node:stream";
import { clientIsGone } from "./bodies.ts";

/** Signals that abort when a client is gone before its answer is, or when the server stops. AbortSignal.any costs 6 µs a request. */
export class Endings {
  readonly #open = new Map<AbortController, Writable>();
  #reason: Error | undefined;

  get isStopping(): boolean {
    return this.#reason !== undefined;
  }

  of(answer: Writable): AbortSignal {
    const controller = new AbortController();
    if (this.#reason && isBegun(answer)) controller.abort(this.#reason);
    else if (answer.destroyed) controller.abort(clientIsGone);
    else {
      this.#open.set(controller, answer);
      answer.on("close", () => {
        this.#open.delete(controller);
        // Node ends the answer of an HTTP/2 stream that its client has reset, so that it looks finished.
        const isReset = "aborted" in answer && answer.aborted === true;
        if (isReset || !answer.writableFinished) controller.abort(clientIsGone);
      });
    }
    return controller.signal;
  }

  /** What is being answered goes on only if it has an end; what is not yet is waited for. */
  stop(reason: Error): void {
    this.#reason = reason;
    for (const [controller, answer] of this.#open) if (isBegun(answer)) controller.abort(reason);
  }

  /** For a request whose answer begins after the server was told to stop. */
  end(signal: AbortSignal): void {
    for (const controller of this.#open.keys()) if (controller.signal === signal) controller.abort(this.#reason);
  }

  cutOff(): void {
    for (const controller of this.#open.keys()) controller.abort(this.#reason);
  }
}

/** A connection that was taken over has no headers, and no end of its own. */
const isBegun = (answer: Writable): boolean => !("headersSent" in answer) || answer.headersSent === true;
