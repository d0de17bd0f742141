// Asks for a new certificate before the present one ends, and for a first one where there is none.
// Upstream: staging/src/k8s.io/client-go/util/certificate/certificate_manager.go.
import { aborted } from "#base/aborted.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { backoffMs } from "#base/retry.ts";
import type { Component } from "#base/supervise.ts";
import type { KeyPair } from "../certificates.ts";
import { lifeOf } from "./stored-pair.ts";

export interface RotationOptions {
  /** For the log. */
  readonly what: string;
  readonly current: () => KeyPair | undefined;
  readonly request: (signal: AbortSignal) => Promise<KeyPair>;
  readonly store: (pair: KeyPair) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const backoff = { firstMs: 2000, maxMs: 128_000, jitter: 0.1 };
/** Timers hold no longer than some weeks; besides, clocks are set. */
const longestSleepMs = 3_600_000;

/** When to ask: after seven to nine tenths of its life, so that nodes that were made together do not ask together. */
export const renewalTime = (cert: string, chance: number): number => {
  const { from, to } = lifeOf(cert);
  return from + (to - from) * (0.7 + 0.2 * chance);
};

export const certificateRotation = (options: RotationOptions): Component => ({
  name: `${options.what} rotation`,
  async run(signal) {
    const { clock, random, log, current, request, store, what } = options;
    for (let failures = 0; !signal.aborted; ) {
      const present = current();
      const at = present ? renewalTime(present.cert, random.next()) : 0;
      while (!signal.aborted && clock.now() < at) await nap(clock, Math.min(at - clock.now(), longestSleepMs), signal);
      if (signal.aborted) return;
      try {
        store(await request(signal));
        failures = 0;
        log.info("a certificate was issued", { certificate: what });
      } catch (error) {
        if (signal.aborted) return;
        log.error("a certificate could not be had; trying again", { certificate: what, error: explain(error) });
        await nap(clock, backoffMs(backoff, failures++, random), signal);
      }
    }
    await aborted(signal);
  },
});

const nap = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  clock.sleep(ms, signal).catch(() => undefined); // aborted: whoever waits looks at the signal
