// Work on many things, a bounded number at a time, each at most once at a time; never so long that others wait.
import { breathe } from "#base/breathe.ts";
import type { Component } from "#base/supervise.ts";

export interface LanesOptions<T> {
  readonly name: string;
  readonly count: number;
  /** Must not throw for what can go wrong with one target. */
  work(target: T, signal: AbortSignal): Promise<void>;
}

export class Lanes<T> implements Component {
  readonly name: string;
  readonly #options: LanesOptions<T>;
  readonly #ready = new Set<T>();
  readonly #soon = new Set<T>();
  readonly #busy = new Set<T>();
  readonly #again = new Set<T>();
  readonly #idle = new Set<() => void>();

  constructor(options: LanesOptions<T>) {
    this.name = options.name;
    this.#options = options;
  }

  /** Whether nothing waits and nothing is being worked on. */
  get isIdle(): boolean {
    return this.#ready.size + this.#soon.size + this.#busy.size === 0;
  }

  /** `first` puts it before all that were added without: what was begun is brought to an end before more is begun. */
  add(target: T, order: "first" | "last" = "last"): void {
    if (this.#busy.has(target)) {
      this.#again.add(target);
      return;
    }
    if (order === "first") {
      this.#ready.delete(target);
      this.#soon.add(target);
    } else if (!this.#soon.has(target)) this.#ready.add(target);
    const [wake] = this.#idle;
    if (wake) {
      this.#idle.delete(wake);
      wake();
    }
  }

  delete(target: T): void {
    this.#ready.delete(target);
    this.#soon.delete(target);
    this.#again.delete(target);
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = () => {
      for (const wake of this.#idle) wake();
      this.#idle.clear();
    };
    signal.addEventListener("abort", stop, { once: true });
    await Promise.all(Array.from({ length: this.#options.count }, () => this.#lane(signal)));
    throw signal.reason;
  }

  async #lane(signal: AbortSignal): Promise<void> {
    const pause = breathe();
    while (!signal.aborted) {
      const target = this.#take();
      if (target === undefined) {
        await new Promise<void>((resolve) => this.#idle.add(resolve));
        continue;
      }
      this.#busy.add(target);
      try {
        await this.#options.work(target, signal);
      } finally {
        this.#busy.delete(target);
        if (this.#again.delete(target)) this.add(target, "first");
      }
      if (pause.due()) await pause.now();
    }
  }

  #take(): T | undefined {
    for (const queue of [this.#soon, this.#ready]) {
      const [target] = queue;
      if (target !== undefined) {
        queue.delete(target);
        return target;
      }
    }
    return undefined;
  }
}
