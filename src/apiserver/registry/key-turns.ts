// Writers of one key, one after the other. They would only fail at the store if they worked side by side: each reads the object, makes a
// new one of it, and writes that on condition that nothing came between.
//
// A disk flush takes longer than everything else about a write, and many writes share one. So a writer does not keep its turn until its
// write is durable: it hands over as soon as the store has said which revision the write will have, and the next writer builds on
// that. The newest such write of a key is its **tip**. Two patches of one object:
//
//   1. A has the turn, reads revision 7, begins to write 8, makes 8 the tip, and hands over.
//   2. B has the turn, finds the tip 8, and makes its object of that. B begins to write 9 on condition that the key is at 8, makes 9 the
//      tip, and hands over.
//   3. One flush makes 8 and 9 durable. A answers. B answers after it has waited for 8 and 9.
//   3'. Or the flush fails: then 8 fails, and with it 9, since the store fails all writes that build on a failed one. Both refuse.
//
// Invariants:
//
//   - One writer of a key has the turn. Writers get it in the order in which they came.
//   - The tip is the newest write of its key by this server. It has a revision and is not yet known to be durable.
//   - Whoever has read a tip gives no answer, not even a refusal, before that tip is durable: the answer would rest on what may be lost.
//   - A tip goes when it is durable or has failed, unless a newer one has taken its place.
//   - Both maps hold keys only while they are written, so requests in flight bound them.
import type { StoredObject } from "../stored.ts";

/** A write on its way to the disk. */
export interface Tip {
  readonly stored: StoredObject;
  /** Rejects if the write is lost. */
  readonly durable: Promise<unknown>;
}

/** What the writer has who has the turn. */
export interface KeyTurn {
  /** The write of this key that is on its way, if there is one. */
  readonly tip: Tip | undefined;
  /** Makes this writer's own write the tip and lets the next writer begin. Resolves when the write is durable. */
  handOver(tip: Tip): Promise<void>;
}

export class KeyTurns {
  /** The end of the last turn that was asked for, by key. */
  readonly #turns = new Map<string, Promise<void>>();
  readonly #tips = new Map<string, Tip>();

  /** Runs `work` once all who came before for this key are done or have handed over. */
  async run<T>(key: string, work: (turn: KeyTurn) => Promise<T>): Promise<T> {
    const before = this.#turns.get(key);
    const { promise: mine, resolve: end } = Promise.withResolvers<void>();
    this.#turns.set(key, mine);
    try {
      await before;
      const tip = this.#tips.get(key);
      return await work({ tip, handOver: (next) => this.#handOver(key, next, end) });
    } finally {
      end();
      if (this.#turns.get(key) === mine) this.#turns.delete(key);
    }
  }

  async #handOver(key: string, tip: Tip, end: () => void): Promise<void> {
    this.#tips.set(key, tip);
    end();
    try {
      await tip.durable;
    } finally {
      if (this.#tips.get(key) === tip) this.#tips.delete(key);
    }
  }
}
