// Keeps a proxy as the objects of some kinds say: looks at all of them again whenever one has changed.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { backoffMs } from "#base/retry.ts";
import type { Informers } from "#client/informers.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ProxyState } from "./proxy-state.ts";

export interface ReverseProxy {
  become(state: ProxyState, signal: AbortSignal): Promise<void>;
  sweep(signal: AbortSignal): Promise<void>;
  readonly hasLeaving: boolean;
}

export interface ProxyLoopOptions<R extends { readonly state: ProxyState }> {
  readonly informers: Informers;
  readonly proxy: ReverseProxy;
  readonly kinds: readonly AnyKind[];
  /** From the objects to what the proxy is to do. */
  readonly route: () => R;
  /** Called when the proxy does it. */
  readonly report: (result: R, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Changes come in bursts: a rollout changes a slice several times. */
const settleMs = 10;
const sweepMs = 2000;
const failureBackoff = { firstMs: 200, maxMs: 10_000 };

export class ProxyLoop<R extends { readonly state: ProxyState }> {
  readonly #options: ProxyLoopOptions<R>;
  #wake = Promise.withResolvers<void>();
  #hasSynced = false;

  constructor(options: ProxyLoopOptions<R>) {
    this.#options = options;
  }

  /** Whether the proxy did what the cluster says, at least once. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Lets it look at everything again. */
  wake(): void {
    this.#wake.resolve();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { informers, proxy, kinds, route, report, clock, log } = this.#options;
    for (const kind of kinds) await informers.of(kind).synced(signal);
    for (const kind of kinds) informers.of(kind).onChange(() => this.wake());
    for (let failures = 0; ; ) {
      this.#wake = Promise.withResolvers<void>();
      try {
        const result = route();
        await proxy.become(result.state, signal);
        await proxy.sweep(signal);
        this.#hasSynced = true;
        await report(result, signal);
        failures = 0;
      } catch (error) {
        signal.throwIfAborted();
        log.error("the proxy is not as it should be; trying again", { error: explain(error) });
        failures++;
      }
      if (failures > 0) await clock.sleep(backoffMs(failureBackoff, failures - 1), signal);
      else await this.#untilChanged(signal);
    }
  }

  async #untilChanged(signal: AbortSignal): Promise<void> {
    const { clock, proxy } = this.#options;
    const done = new AbortController();
    const either = AbortSignal.any([signal, done.signal]);
    const waits = [
      this.#wake.promise,
      new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
    ];
    if (proxy.hasLeaving) waits.push(clock.sleep(sweepMs, either));
    try {
      await Promise.race(waits);
    } finally {
      done.abort(new Error("changed"));
    }
    await clock.sleep(settleMs, signal);
  }
}
