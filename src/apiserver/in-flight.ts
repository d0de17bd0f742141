// How many requests are served at once. The limits and the answer follow upstream's server/filters/maxinflight.go; the share of one
// user is ours, in place of its queues: whoever asks for more than half of what can be served leaves the rest to the others.
import type { User } from "#wire/api-request.ts";
import { type HttpRequest, type HttpResponse, nosniff, uncached } from "#wire/http.ts";

export interface InFlightLimits {
  /** Requests that only read, and requests that write; 0 is without limit. */
  readonly reads: number;
  readonly writes: number;
  /** Watches and connections of one user. */
  readonly lasting: number;
}

export const usualInFlight: InFlightLimits = { reads: 400, writes: 200, lasting: 2000 };

export type Lane = keyof InFlightLimits;

/** Which limit a request falls under; none for probes, which must tell that the server lives just when it is busy. */
export function laneOf({ method, path }: HttpRequest, isLasting: boolean): Lane | undefined {
  if (isLasting) return "lasting";
  if (!path.startsWith("/api") && /^\/(healthz|livez|readyz)(\/|$)/.test(path)) return undefined;
  return method === "GET" || method === "HEAD" ? "reads" : "writes";
}

const nothing = (): void => undefined;

const mostIdle = 100;

export class InFlightRequests {
  readonly #limits: InFlightLimits;
  readonly #totals: Record<Lane, number> = { reads: 0, writes: 0, lasting: 0 };
  /** Of each user, by its name: how many are under way. Of users without any there are few in it. */
  readonly #users: Readonly<Record<Lane, Map<string, number>>> = {
    reads: new Map(),
    writes: new Map(),
    lasting: new Map(),
  };

  constructor(limits: InFlightLimits) {
    this.#limits = limits;
  }

  /** Lets a request in, and answers how to tell that it is over; undefined if there are too many. */
  enter({ name, groups }: User, lane: Lane | undefined): (() => void) | undefined {
    if (lane === undefined || this.#limits[lane] === 0) return nothing;
    const users = this.#users[lane];
    const own = users.get(name) ?? 0;
    if (this.#isFull(lane, own) && !groups.includes("system:masters")) return undefined;
    users.set(name, own + 1);
    this.#totals[lane]++;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#totals[lane]--;
      const left = (users.get(name) ?? 1) - 1;
      // To take out who comes back at once makes the map anew every few requests.
      if (left === 0 && users.size > mostIdle) users.delete(name);
      else users.set(name, left);
    };
  }

  #isFull(lane: Lane, own: number): boolean {
    const limit = this.#limits[lane];
    return lane === "lasting" ? own >= limit : this.#totals[lane] >= limit || own >= Math.ceil(limit / 2);
  }
}

/** Says when to come back, in seconds. */
export const tooManyRequests = (retryAfter = 1): HttpResponse => ({
  code: 429,
  headers: { "content-type": "text/plain; charset=utf-8", "retry-after": String(retryAfter), ...nosniff, ...uncached },
  body: "Too many requests, please try again later.\n",
});
