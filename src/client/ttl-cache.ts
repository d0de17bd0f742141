import type { Clock } from "#base/clock.ts";
import { Lru } from "./lru.ts";

/** The most entries that are cached: callers must not be able to fill the memory. */
const rememberedAnswers = 8192;

/** A TTL cache of asynchronous results. Concurrent callers of one key share one computation. */
export class TtlCache<V> {
  readonly #clock: Clock;
  readonly #answers = new Lru<{ readonly answer: Promise<V>; until: number }>(rememberedAnswers);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(question: string, ask: () => Promise<V>, msOf: (answer: V) => number): Promise<V> {
    const known = this.#answers.get(question);
    if (known && known.until > this.#clock.elapsed()) return known.answer;
    const entry = { answer: ask(), until: Number.POSITIVE_INFINITY };
    this.#answers.set(question, entry);
    entry.answer.then(
      (answer) => {
        entry.until = this.#clock.elapsed() + msOf(answer);
      },
      () => {
        entry.until = 0; // the callers get the error; the next one tries again
      },
    );
    return entry.answer;
  }
}
