// Where lines go. An output takes a batch or throws; who sends tries again, later and later.
import type { ContainerLine } from "./log-line.ts";

export interface LogOutput {
  readonly name: string;
  /** Throws if nothing was taken and another try may help. */
  send(lines: readonly ContainerLine[], signal: AbortSignal): Promise<SendReport>;
  close(): void;
}

export interface SendReport {
  /** Lines that will never be taken, and why. */
  readonly rejected?: number;
  readonly reason?: string;
  /** Lines that were not taken this time. */
  readonly unsent?: readonly ContainerLine[];
}

/** Fewer lines at once may be taken. */
export class BatchTooLarge extends Error {
  override readonly name = "BatchTooLarge";
}

/** The receiver says when to come back. */
export class BusyReceiver extends Error {
  override readonly name = "BusyReceiver";
  readonly waitMs: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.waitMs = waitMs;
  }
}
