// Keeps tokens and passwords from being guessed: of each address only so many wrong ones are looked at. What was good before is always
// looked at, so that clients behind the same address go on while somebody there guesses.
import type { Clock } from "#base/clock.ts";
import { ApiError, isReason } from "#base/errors.ts";
import { hex } from "#base/hex.ts";
import type { Log } from "#base/log.ts";
import { type Metrics, noMetrics } from "#base/metrics.ts";
import { sha256 } from "#base/sha256.ts";
import { Lru } from "#client/lru.ts";
import { parseIp } from "#schema/ip.ts";

export interface GuessLimiterOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Where refused and unchecked credentials are counted; nowhere by default. */
  readonly metrics?: Metrics;
}

/** How many wrong credentials an address may show at once, and how long it takes until it may show one more. */
export const guessBurst = 100;
export const guessMs = 1000;
/** Nobody may fill the memory: those addresses are forgotten that were not heard of for longest. */
const rememberedAddresses = 4096;
const rememberedCredentials = 8192;
/** A client that shows one wrong credential again and again does not guess. */
const rememberedMistakes = 8;

const refusedMetric = "knarr_refused_credentials_total";

/** What an address has left. Invariant: `pending` checks may still fail, and are let begin only while `left` suffices for all of them. */
class AddressGuesses {
  readonly #clock: Clock;
  readonly mistakes = new Lru<true>(rememberedMistakes);
  readonly #waiting: (() => void)[] = [];
  #left = guessBurst;
  #countedAt: number;
  pending = 0;
  /** Whether it was logged that the address has none left. */
  isTold = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#countedAt = clock.elapsed();
  }

  get left(): number {
    const now = this.#clock.elapsed();
    this.#left = Math.min(guessBurst, this.#left + (now - this.#countedAt) / guessMs);
    this.#countedAt = now;
    if (this.#left >= guessBurst) this.isTold = false;
    return this.#left;
  }

  spend(): void {
    this.#left = this.left - 1;
  }

  get isIdle(): boolean {
    return this.pending === 0 && this.left >= guessBurst;
  }

  /** Until one of those that are pending is decided. */
  decided(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  decide(): void {
    this.pending--;
    // As many as may begin now; all of them if there is nothing left to wait for.
    const count = this.left < 1 ? this.#waiting.length : Math.floor(this.left) - this.pending;
    for (const go of this.#waiting.splice(0, count)) go();
  }
}

export class GuessLimiter {
  readonly #options: GuessLimiterOptions;
  readonly #addresses = new Map<string, AddressGuesses>();
  /** By themselves: to hash each would take longer than to look it up, and those who verify them keep them as well. */
  readonly #good = new Lru<true>(rememberedCredentials);

  constructor(options: GuessLimiterOptions) {
    this.#options = options;
  }

  /** Finds out whose credential it is; `verify` throws ApiError 401 for a wrong one. Throws ApiError 429 where too many were wrong. */
  async check<T>(address: string, credential: string, verify: () => Promise<T>): Promise<T> {
    if (this.#good.get(credential)) return verify();
    const source = sourceOf(address);
    const guesses = this.#guessesOf(source);
    while (guesses.left < guesses.pending + 1) {
      if (guesses.left < 1) throw this.#tooMany(source, guesses);
      await guesses.decided();
    }
    guesses.pending++;
    try {
      const result = await verify();
      this.#good.set(credential, true);
      return result;
    } catch (error) {
      if (isReason(error, "Unauthorized")) this.#refused(guesses, credential);
      throw error;
    } finally {
      guesses.decide();
      if (guesses.isIdle) this.#addresses.delete(source);
    }
  }

  #guessesOf(source: string): AddressGuesses {
    const guesses = this.#addresses.get(source) ?? new AddressGuesses(this.#options.clock);
    this.#addresses.delete(source);
    this.#addresses.set(source, guesses);
    if (this.#addresses.size > rememberedAddresses) this.#addresses.delete(this.#addresses.keys().next().value ?? "");
    return guesses;
  }

  #refused(guesses: AddressGuesses, credential: string): void {
    (this.#options.metrics ?? noMetrics).count(refusedMetric, { checked: "true" });
    const hash = hex(sha256(credential)); // strangers choose how long it is
    if (guesses.mistakes.get(hash)) return;
    guesses.mistakes.set(hash, true);
    guesses.spend();
  }

  #tooMany(address: string, guesses: AddressGuesses): ApiError {
    const { log, metrics = noMetrics } = this.#options;
    metrics.count(refusedMetric, { checked: "false" });
    if (!guesses.isTold)
      log.warn("somebody guesses tokens or passwords: of this address only one a second is checked now", { address });
    guesses.isTold = true;
    return new ApiError({
      code: 429,
      reason: "TooManyRequests",
      message: `too many wrong tokens or passwords came from ${address}: only one a second is checked now; try again later`,
      details: { retryAfterSeconds: Math.ceil(guessMs / 1000) },
    });
  }
}

/** Whoever has an address of IPv6 has all of its network: 64 bits of it are one source. */
function sourceOf(address: string): string {
  const ip = parseIp(address);
  if (ip?.family !== 6) return address.replace(/^::ffff:/i, "");
  const groups = [112n, 96n, 80n, 64n].map((shift) => ((ip.value >> shift) & 0xffffn).toString(16));
  return `${groups.join(":")}::/64`;
}
