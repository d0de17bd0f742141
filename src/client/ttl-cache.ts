import type { Clock } from "#base/clock.ts";
import { Lru } from "./lru.ts";

/** So many answers are remembered: nobody may fill the memory with questions. */
const rememberedAnswers = 8192;

/** Answers under the names of their questions, each for its time. Who asks while one is on its way waits for the same. */
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
        entry.until = 0; // whoever asked is told; the next one asks again
      },
    );
    return entry.answer;
  }
}
