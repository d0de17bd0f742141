// Certificates that are renewed while they are in use. What is read is read again when a file has changed, and every minute, since not
// every file system tells of changes and since our own are made anew when they near their end.
import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";

/** As often as upstream looks. */
export const lookMs = 60_000;
/** Certificates and keys are replaced one after another. */
const settleMs = 100;

export interface LiveCertificatesOptions<T> {
  /** Reads them, and makes anew what is about to end. Throws for what cannot be used. */
  readonly read: () => T;
  /** Files whose change is acted on at once; that of others, within a minute. */
  readonly files?: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

export class LiveCertificates<T> implements Component {
  readonly name = "certificates";
  readonly #options: LiveCertificatesOptions<T>;
  readonly #listeners = new Set<(now: T) => void>();
  #current: T;
  #text: string;
  #problem = "";

  constructor(options: LiveCertificatesOptions<T>) {
    this.#options = options;
    this.#current = options.read();
    this.#text = JSON.stringify(this.#current);
  }

  get current(): T {
    return this.#current;
  }

  /** Called with each change, and not with what is there now. */
  subscribe(listener: (now: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, files = [] } = this.#options;
    let changed = Promise.withResolvers<void>();
    const watchers = [...new Set(files.map(dirname))].flatMap((folder) =>
      watcherOf(folder, () => changed.resolve(), this.#options.log),
    );
    try {
      while (!signal.aborted) {
        const waiting = new AbortController();
        const either = AbortSignal.any([signal, waiting.signal]);
        const woken = changed.promise.then(() => clock.sleep(settleMs, either));
        await Promise.race([woken, clock.sleep(lookMs, either)]).catch(() => undefined); // aborted: the loop ends
        waiting.abort(new Error("looked at"));
        woken.catch(() => undefined);
        changed = Promise.withResolvers<void>();
        if (!signal.aborted) this.refresh();
      }
    } finally {
      for (const watcher of watchers) watcher.close();
    }
  }

  /** Looks now. What cannot be used is told once, and what was there before goes on to count. */
  refresh(): void {
    const { read, log } = this.#options;
    try {
      const now = read();
      const text = JSON.stringify(now);
      this.#problem = "";
      if (text === this.#text) return;
      for (const listener of this.#listeners) listener(now);
      this.#current = now;
      this.#text = text;
      log.info("certificates were renewed");
    } catch (error) {
      const problem = explain(error);
      if (problem !== this.#problem) log.error("certificates cannot be read again; those of before count", { error });
      this.#problem = problem;
    }
  }
}

function watcherOf(folder: string, changed: () => void, log: Log): readonly FSWatcher[] {
  try {
    const watcher = watch(folder, { persistent: false }, changed);
    watcher.on("error", (error) =>
      log.warn("a folder of certificates is looked at every minute only", { folder, error }),
    );
    return [watcher];
  } catch (error) {
    log.warn("a folder of certificates is looked at every minute only", { folder, error });
    return [];
  }
}
