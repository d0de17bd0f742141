// A pool of workers over a queue of distinct targets: a bounded number at a time, each target by at most one worker. Workers give way
// to the event loop.
import { breathe } from "#base/breathe.ts";
import type { Component } from "#base/supervise.ts";

export interface WorkerPoolOptions<T> {
  readonly name: string;
  readonly count: number;
  /** A rejection ends the whole pool: errors of a single target must be handled inside. */
  work(target: T, signal: AbortSignal): Promise<void>;
}

export class WorkerPool<T> implements Component {
  readonly name: string;
  readonly #options: WorkerPoolOptions<T>;
  readonly #queued = new Set<T>();
  readonly #urgent = new Set<T>();
  readonly #busy = new Set<T>();
  readonly #rerun = new Set<T>();
  readonly #idleWorkers = new Set<() => void>();

  constructor(options: WorkerPoolOptions<T>) {
    this.name = options.name;
    this.#options = options;
  }

  /** Whether nothing waits and nothing is being worked on. */
  get isIdle(): boolean {
    return this.#queued.size + this.#urgent.size + this.#busy.size === 0;
  }

  /** `first` queues the target before all others: what was begun is finished before more is begun. */
  add(target: T, order: "first" | "last" = "last"): void {
    if (this.#busy.has(target)) {
      this.#rerun.add(target);
      return;
    }
    if (order === "first") {
      this.#queued.delete(target);
      this.#urgent.add(target);
    } else if (!this.#urgent.has(target)) this.#queued.add(target);
    const [wake] = this.#idleWorkers;
    if (wake) {
      this.#idleWorkers.delete(wake);
      wake();
    }
  }

  delete(target: T): void {
    this.#queued.delete(target);
    this.#urgent.delete(target);
    this.#rerun.delete(target);
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = () => {
      for (const wake of this.#idleWorkers) wake();
      this.#idleWorkers.clear();
    };
    signal.addEventListener("abort", stop, { once: true });
    await Promise.all(Array.from({ length: this.#options.count }, () => this.#worker(signal)));
    throw signal.reason;
  }

  async #worker(signal: AbortSignal): Promise<void> {
    const pause = breathe();
    while (!signal.aborted) {
      const target = this.#take();
      if (target === undefined) {
        await new Promise<void>((resolve) => this.#idleWorkers.add(resolve));
        continue;
      }
      this.#busy.add(target);
      try {
        await this.#options.work(target, signal);
      } finally {
        this.#busy.delete(target);
        if (this.#rerun.delete(target)) this.add(target, "first");
      }
      if (pause.due()) await pause.now();
    }
  }

  #take(): T | undefined {
    for (const queue of [this.#urgent, this.#queued]) {
      const [target] = queue;
      if (target !== undefined) {
        queue.delete(target);
        return target;
      }
    }
    return undefined;
  }
}
