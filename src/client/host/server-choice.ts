// Which of several API servers to ask. One that does not answer, or that says it is not ready, is left for another; one that works is not
// left because another might be better.
import { get } from "node:https";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { trustAsGo } from "#wire/host/trust.ts";

export interface ServerChoiceOptions {
  /** `https://host:port`, the first one to begin with. */
  readonly servers: readonly string[];
  /** What their certificates are checked against, in PEM. */
  readonly ca: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the server to ask from now on: what is under way to the one before will not be answered. */
  readonly onChange: (server: string) => void;
  /** Rejects if a server is not ready; defaults to asking for /readyz. */
  readonly probe?: (server: string, signal: AbortSignal) => Promise<void>;
}

const lookMs = 2_000;
const patienceMs = 3_000;
/** So often a server that answers slowly is given another chance. One that refuses connections is not. */
const slowTries = 2;

export class ServerChoice implements Component {
  readonly name = "server choice";
  readonly #options: ServerChoiceOptions;
  readonly #probe: NonNullable<ServerChoiceOptions["probe"]>;
  #servers: readonly string[];
  #current: string;

  constructor(options: ServerChoiceOptions) {
    this.#options = options;
    this.#probe = options.probe ?? ((server, signal) => askReady(server, options.ca, signal));
    this.#servers = options.servers;
    const [first] = options.servers;
    if (first === undefined) throw new Error("no API server is named");
    this.#current = first;
  }

  get current(): string {
    return this.#current;
  }

  get servers(): readonly string[] {
    return this.#servers;
  }

  /** The servers that there are now. The present one stays until it does not answer. */
  update(servers: readonly string[]): void {
    this.#servers = servers;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      const problem = await this.#problemOf(this.#current, signal);
      failures = problem === undefined ? 0 : failures + 1;
      if (problem !== undefined && (problem.isCertain || failures >= slowTries))
        await this.#change(problem.why, signal);
      if (problem === undefined || problem.isCertain) await clock.sleep(lookMs, signal);
    }
  }

  async #change(why: string, signal: AbortSignal): Promise<void> {
    const { log, onChange } = this.#options;
    const before = this.#current;
    const others = this.#servers.filter((server) => server !== before);
    const answers = await Promise.all(others.map((server) => this.#problemOf(server, signal)));
    const next = others.find((_, i) => answers[i] === undefined);
    if (next === undefined) return;
    log.warn("asking another API server from now on", { before, now: next, why });
    this.#current = next;
    onChange(next);
  }

  async #problemOf(
    server: string,
    signal: AbortSignal,
  ): Promise<{ readonly why: string; readonly isCertain: boolean } | undefined> {
    const late = new AbortController();
    const cancel = this.#options.clock.after(patienceMs, () => late.abort(new Error(`no answer in ${patienceMs} ms`)));
    try {
      await this.#probe(server, AbortSignal.any([signal, late.signal]));
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      return { why: explain(late.signal.aborted ? late.signal.reason : error), isCertain: !late.signal.aborted };
    } finally {
      cancel();
    }
  }
}

/** Resolves if the server says that it is ready. */
export const askReady = (server: string, ca: string, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    // A connection of its own, so that it says something about new connections.
    const request = get(`${server}/readyz`, { ca, agent: false, signal, ...trustAsGo }, (response) => {
      response.resume();
      if (response.statusCode === 200) response.once("end", () => resolve()).once("error", reject);
      else reject(new Error(`${server} is not ready: it answers ${response.statusCode}`));
    });
    request.once("error", reject);
  });
