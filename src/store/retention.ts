import type { Clock } from "#base/clock.ts";
import type { Revision } from "./engine.ts";

export interface RetentionOptions {
  /** History younger than this is kept; defaults to five minutes. */
  readonly keepMs?: number;
  /** So many revisions are kept however old they are. None by default: what was deleted must not stay readable for days. */
  readonly keepRevisions?: number;
}

/** Decides by itself how much history to forget, as long as there are writes: nothing runs in an idle store. */
export class Retention {
  readonly #keepRevisions: number;
  readonly #clock: Clock;
  readonly #keepMs: number;
  readonly #forget: (revision: Revision) => void;
  /** When the store stood where, oldest first. */
  readonly #marks: { readonly at: number; readonly revision: Revision }[] = [];
  #newest: Revision = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, options: RetentionOptions, forget: (revision: Revision) => void) {
    this.#clock = clock;
    this.#keepMs = options.keepMs ?? 300_000;
    this.#keepRevisions = options.keepRevisions ?? 0;
    this.#forget = forget;
  }

  /** To be told of every new revision. */
  wrote(newest: Revision): void {
    this.#newest = newest;
    this.#cancelTimer ??= this.#clock.after(this.#keepMs / 20, () => this.#look());
  }

  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #look(): void {
    this.#cancelTimer = undefined;
    const now = this.#clock.elapsed();
    const marks = this.#marks;
    marks.push({ at: now, revision: this.#newest });
    while (marks[1] && marks[1].at <= now - this.#keepMs) marks.shift();
    const oldest = marks[0];
    if (oldest && oldest.at <= now - this.#keepMs) {
      const revision = Math.min(oldest.revision, this.#newest - this.#keepRevisions);
      if (revision > 0) this.#forget(revision);
      if (oldest.revision >= this.#newest) marks.length = 0;
    }
    if (marks.length > 0) this.wrote(this.#newest);
  }
}
