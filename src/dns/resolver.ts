// Answers DNS queries, bytes to bytes. Names of the cluster are answered from the zone, all others are forwarded.
// The same few queries come again and again, so answers are cached by the bytes of the query, until the zone changes or their TTL is
// over; only the query id is replaced. That makes the resolver as fast as its socket.
import { type Answer, AUTHORITATIVE_ANSWER, encode, type Packet } from "dns-packet";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import {
  codes,
  type DnsTransport,
  decodePacket,
  encodeWithin,
  failure,
  headerBytes,
  shortestTtl,
  shuffled,
  toAnswer,
  withIdOf,
} from "./message.ts";
import { type DnsZone, ttlSeconds, type ZoneAnswer } from "./zone.ts";

export interface ResolverOptions {
  readonly zone: DnsZone;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Resolves names outside of the cluster; without it they are refused. Rejects when no server answers. */
  readonly forward?: (query: Uint8Array, transport: DnsTransport) => Promise<Uint8Array>;
}

const maxCached = 10_000;
const maxForwardedTtlMs = 5_000;
const maxLinks = 8;

interface CachedAnswer {
  readonly bytes: Buffer;
  /** On the monotonic clock. */
  readonly until: number;
}

export class Resolver {
  readonly #options: ResolverOptions;
  #cache = new Map<string, CachedAnswer>();

  constructor(options: ResolverOptions) {
    this.#options = options;
  }

  /** Empties the cache; to be called when the zone has changed. */
  readonly forget = (): void => {
    if (this.#cache.size > 0) this.#cache = new Map();
  };

  /** The answer; undefined for packets that are no query. */
  answer(query: Buffer, transport: DnsTransport): Buffer | Promise<Buffer> | undefined {
    if (query.length < headerBytes || ((query[2] ?? 0) & 0x80) !== 0) return undefined; // no question, or an answer
    const key = `${transport}${query.toString("latin1", 2)}`;
    const cached = this.#cache.get(key);
    if (cached && cached.until > this.#options.clock.elapsed()) return withIdOf(cached.bytes, query);
    return this.#resolve(query, transport, key);
  }

  #resolve(query: Buffer, transport: DnsTransport, key: string): Buffer | Promise<Buffer> {
    const request = decodePacket(query);
    if (!request) return failure(query, "FORMERR");
    if ((((query[2] ?? 0) >> 3) & 0xf) !== 0) return failure(query, "NOTIMP", request);
    const [question] = request.questions ?? [];
    if (!question || (request.questions?.length ?? 0) > 1) return failure(query, "FORMERR");
    if (question.class !== "IN") return failure(query, "REFUSED", request);
    const name = question.name.toLowerCase();
    const found = this.#options.zone.find(name, question.type);
    if (!found) return this.#forward(query, request, transport, key);
    const link = found.answers[0];
    if (link?.type === "CNAME" && question.type !== "CNAME") return this.#followCname(query, request, transport, found);
    const bytes = this.#reply(query, request, transport, found);
    if (found.answers.length < 2) this.#store(key, bytes, ttlSeconds * 1000); // several are told in another order each time
    return bytes;
  }

  async #forward(query: Buffer, request: Packet, transport: DnsTransport, key: string): Promise<Buffer> {
    const { forward } = this.#options;
    if (!forward) return failure(query, "REFUSED", request);
    try {
      const bytes = Buffer.from(await forward(query, transport));
      const ttl = shortestTtl(bytes);
      if (ttl > 0) this.#store(key, bytes, Math.min(ttl * 1000, maxForwardedTtlMs));
      return withIdOf(bytes, query);
    } catch (error) {
      this.#options.log.warn("dns question could not be forwarded", { error: explain(error) });
      return failure(query, "SERVFAIL", request);
    }
  }

  /** Follows a CNAME, and answers with the whole chain as far as it can be resolved. */
  async #followCname(query: Buffer, request: Packet, transport: DnsTransport, first: ZoneAnswer): Promise<Buffer> {
    const { zone, forward } = this.#options;
    const type = request.questions?.[0]?.type ?? "A";
    const answers: Answer[] = [];
    let found: ZoneAnswer | undefined = first;
    for (let links = 0; links < maxLinks; links++) {
      answers.push(...(found?.answers ?? []).map(toAnswer));
      const last = found?.answers[0];
      if (last?.type !== "CNAME") break;
      found = zone.find(last.data.toLowerCase(), type);
      if (found) continue;
      if (forward) answers.push(...(await answersFrom(forward, last.data, type, transport)));
      break;
    }
    return encodeWithin(query, request, transport, { flags: AUTHORITATIVE_ANSWER, answers });
  }

  #reply(
    query: Buffer,
    request: Packet,
    transport: DnsTransport,
    { exists, answers, additionals }: ZoneAnswer,
  ): Buffer {
    const { random, zone } = this.#options;
    const flags = AUTHORITATIVE_ANSWER | (exists ? 0 : codes.NXDOMAIN);
    return encodeWithin(query, request, transport, {
      flags,
      answers: shuffled(answers, random).map(toAnswer),
      additionals: additionals.map(toAnswer),
      ...(answers.length === 0 && { authorities: [toAnswer(zone.authority)] }),
    });
  }

  #store(key: string, bytes: Buffer, ms: number): void {
    if (this.#cache.size >= maxCached) this.#cache = new Map();
    this.#cache.set(key, { bytes, until: this.#options.clock.elapsed() + ms });
  }
}

async function answersFrom(
  forward: NonNullable<ResolverOptions["forward"]>,
  name: string,
  type: NonNullable<Packet["questions"]>[number]["type"],
  transport: DnsTransport,
): Promise<readonly Answer[]> {
  try {
    const query = encode({ type: "query", id: 0, flags: 0x100, questions: [{ type, name, class: "IN" }] });
    return decodePacket(await forward(query, transport))?.answers ?? [];
  } catch {
    return []; // the CNAME alone is a valid answer
  }
}
