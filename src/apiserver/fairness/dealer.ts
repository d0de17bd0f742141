// Shuffle sharding: of many queues each flow is dealt a hand of a few, by a hash of what tells the flow apart. Two flows seldom have the
// whole hand in common, so that one that fills its queues leaves every other flow some that are short.
// Upstream: staging/src/k8s.io/apiserver/pkg/util/shufflesharding.
import { sha256 } from "#base/sha256.ts";

/** A number of 64 bits that is the same for a flow on every server. */
export function flowHash(schema: string, distinguisher: string): bigint {
  const digest = sha256(`${schema}\0${distinguisher}`);
  return new DataView(digest.buffer, digest.byteOffset).getBigUint64(0, true);
}

/** As many different cards as the hand has, each below the size of the deck. Equal hashes are dealt equal hands. */
export function deal(hash: bigint, deckSize: number, handSize: number): readonly number[] {
  const hand: number[] = [];
  let entropy = hash;
  for (let dealt = 0; dealt < handSize; dealt++) {
    const left = BigInt(deckSize - dealt);
    // The digit says which of the cards that are left is dealt: those before it that are gone are stepped over.
    let card = Number(entropy % left);
    entropy /= left;
    for (const gone of hand.toSorted((a, b) => a - b)) if (card >= gone) card++;
    hand.push(card);
  }
  return hand;
}

const mostFlows = 10_000;

/** A flow, as far as one level knows it. */
export interface FlowState {
  /** Its queues, by number. */
  readonly hand: readonly number[];
  /** Its requests that wait or are served. */
  underWay: number;
  /** Up to where it has used what it was allotted, by the virtual clock. */
  usedR: number;
}

/** The flows that were seen lately: to deal a hand takes as long as some requests take. */
export class Dealer {
  readonly deckSize: number;
  readonly handSize: number;
  readonly #flows = new Map<string, Map<string, FlowState>>();
  #count = 0;

  constructor(deckSize: number, handSize: number) {
    this.deckSize = deckSize;
    this.handSize = handSize;
  }

  flowOf(schema: string, distinguisher: string): FlowState {
    const known = this.#flows.get(schema)?.get(distinguisher);
    if (known) return known;
    if (this.#count >= mostFlows) {
      this.#flows.clear();
      this.#count = 0;
    }
    const flow = { hand: deal(flowHash(schema, distinguisher), this.deckSize, this.handSize), underWay: 0, usedR: 0 };
    const ofSchema = this.#flows.get(schema) ?? new Map();
    this.#flows.set(schema, ofSchema.set(distinguisher, flow));
    this.#count++;
    return flow;
  }
}
