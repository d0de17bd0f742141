// Which target the next connection of a sender goes to: each in turn, unless the sender is to stay with the one it had.
import type { Clock } from "#base/clock.ts";
import type { Portal, PortalTarget } from "./forwarder.ts";

interface Visit {
  readonly target: string;
  readonly at: number;
}

/** So many senders are remembered; those that came first are forgotten first. */
const mostSenders = 65_536;

export class PortalChoice {
  readonly #clock: Clock;
  #portal: Portal;
  #next = 0;
  readonly #visits = new Map<string, Visit>();

  constructor(portal: Portal, clock: Clock) {
    this.#portal = portal;
    this.#clock = clock;
  }

  get portal(): Portal {
    return this.#portal;
  }

  update(portal: Portal): void {
    this.#portal = portal;
    const present = new Set(portal.targets.map(keyOf));
    for (const [sender, { target }] of this.#visits) if (!present.has(target)) this.#visits.delete(sender);
  }

  /** A target for the sender. `isRetry`: the one that it had does not answer. Undefined if there are none. */
  choose(sender: string, isRetry = false): PortalTarget | undefined {
    const { targets, affinitySeconds } = this.#portal;
    if (affinitySeconds === undefined) return this.#inTurn();
    const now = this.#clock.now();
    const visit = this.#visits.get(sender);
    const isFresh = visit !== undefined && !isRetry && now - visit.at < affinitySeconds * 1_000;
    const kept = isFresh ? targets.find((target) => keyOf(target) === visit.target) : undefined;
    const target = kept ?? this.#inTurn();
    if (!target) return undefined;
    this.#visits.delete(sender);
    this.#visits.set(sender, { target: keyOf(target), at: now });
    const [oldest] = this.#visits.keys();
    if (this.#visits.size > mostSenders && oldest !== undefined) this.#visits.delete(oldest);
    return target;
  }

  #inTurn(): PortalTarget | undefined {
    const { targets } = this.#portal;
    return targets[this.#next++ % Math.max(targets.length, 1)];
  }
}

export const keyOf = ({ address, port }: PortalTarget): string => `${address} ${port}`;
