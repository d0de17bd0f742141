// Works on keys one by one, several at a time, each again later if that failed.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { WorkQueue } from "#base/queue.ts";
import type { Backoff } from "#base/retry.ts";

export interface KeyedWorkOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly backoff: Backoff;
  /** Answers after how many milliseconds to look again; undefined if only when something changes. */
  work(key: string, signal: AbortSignal): Promise<number | undefined>;
}

const workers = 5;

export class KeyedWork {
  readonly #options: KeyedWorkOptions;
  #queue: WorkQueue | undefined;

  constructor(options: KeyedWorkOptions) {
    this.#options = options;
  }

  /** Does nothing while nobody works. */
  add(key: string): void {
    this.#queue?.add(key);
  }

  /** Works on what `begin` names, and on what is added, until the signal aborts. */
  async run(begin: () => Iterable<string>, signal: AbortSignal): Promise<void> {
    const queue = new WorkQueue(this.#options.clock, this.#options.backoff);
    this.#queue = queue;
    for (const key of begin()) queue.add(key);
    try {
      await Promise.all(Array.from({ length: workers }, () => this.#work(queue, signal)));
    } finally {
      this.#queue = undefined;
      queue.close();
    }
  }

  async #work(queue: WorkQueue, signal: AbortSignal): Promise<void> {
    const { name, log, work } = this.#options;
    while (!signal.aborted) {
      const key = await queue.next(signal).catch(() => undefined); // aborted: the loop ends
      if (key === undefined) return;
      try {
        const afterMs = await work(key, signal);
        queue.forget(key);
        if (afterMs !== undefined) queue.addAfter(key, afterMs);
      } catch (error) {
        if (!signal.aborted) {
          log.debug(`${name}: to be tried again`, { key, error: explain(error) });
          queue.retry(key);
        }
      } finally {
        queue.done(key);
      }
    }
  }
}
