// Answers DNS queries, bytes to bytes. Names of the cluster are answered from the zone, all others are forwarded.
// The same few queries come again and again, so answers are cached by the bytes of the query, until the zone changes or their TTL is
// over; only the query id is replaced. That makes the resolver as fast as its socket.
import { type Answer, AUTHORITATIVE_ANSWER, decode, encode, type Packet, TRUNCATED_RESPONSE } from "dns-packet";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { type DnsZone, ttlSeconds, type ZoneAnswer, type ZoneRecord } from "./zone.ts";

export interface ResolverOptions {
  readonly zone: DnsZone;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Resolves names outside of the cluster; without it they are refused. Rejects when no server answers. */
  readonly forward?: (query: Uint8Array, transport: DnsTransport) => Promise<Uint8Array>;
}

export type DnsTransport = "udp" | "tcp";

/** Bytes of a UDP answer: what the client offers by EDNS, within these bounds. Beyond 1232 datagrams may be fragmented. */
const datagram = { least: 512, most: 1232 };
const headerBytes = 12;
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

const codes = { FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const;
const recursionAvailable = 0x80;

function decodePacket(bytes: Uint8Array): Packet | undefined {
  try {
    return decode(Buffer.from(bytes));
  } catch {
    return undefined; // the reader throws all kinds of errors at bytes that are no message
  }
}

/** A copy of a cached answer with the id of this query. */
function withIdOf(bytes: Buffer, query: Buffer): Buffer {
  const copy = Buffer.allocUnsafe(bytes.length);
  bytes.copy(copy);
  copy[0] = query[0] ?? 0;
  copy[1] = query[1] ?? 0;
  return copy;
}

/** An answer with an error code, and the question if it could be parsed: some clients check that. */
function failure(query: Buffer, code: keyof typeof codes, request?: Packet): Buffer {
  if (request) return encodeWithin(query, request, "udp", { flags: codes[code] });
  const bytes = Buffer.alloc(headerBytes);
  query.copy(bytes, 0, 0, 2);
  bytes[2] = 0x80 | opcodeAndRd(query);
  bytes[3] = codes[code];
  return bytes;
}

/** The opcode and the recursion-desired bit of a query, which its answer repeats. */
const opcodeAndRd = (query: Buffer): number => (query[2] ?? 0) & 0x79;

/** Encodes an answer in no more bytes than the client accepts; records that do not fit are left out, and TC is set. */
function encodeWithin(query: Buffer, request: Packet, transport: DnsTransport, { flags = 0, ...rest }: Packet): Buffer {
  const edns = request.additionals?.find((one) => one.type === "OPT");
  const said = edns?.type === "OPT" ? (edns.udpPayloadSize ?? 0) : 0;
  const limit = transport === "tcp" ? 65_535 : Math.min(Math.max(said, datagram.least), datagram.most);
  const message = (parts: Packet, isCut: boolean): Buffer => {
    const bytes = encode({
      type: "response",
      id: request.id ?? 0,
      flags: flags | recursionAvailable | (opcodeAndRd(query) << 8) | (isCut ? TRUNCATED_RESPONSE : 0),
      questions: request.questions ?? [],
      ...parts,
      additionals: [
        ...(parts.additionals ?? []),
        ...(edns ? [{ type: "OPT", name: ".", udpPayloadSize: datagram.most } as Answer] : []),
      ],
    });
    // The encoder overwrites the response code.
    bytes[3] = ((bytes[3] ?? 0) & 0xf0) | (flags & 0x0f);
    return bytes;
  };
  const whole = message(rest, false);
  if (whole.length <= limit) return whole;
  const { additionals: _, ...bare } = rest;
  const short = message(bare, false);
  if (short.length <= limit) return short;
  let answers = bare.answers ?? [];
  for (;;) {
    answers = answers.slice(0, Math.floor(answers.length / 2));
    const cut = message({ ...bare, answers }, true);
    if (cut.length <= limit || answers.length === 0) return cut;
  }
}

const toAnswer = (record: ZoneRecord): Answer => ({ ...record, ttl: ttlSeconds, class: "IN" }) as Answer;

/** Clients tend to take the first address. */
function shuffled<T>(all: readonly T[], random: Random): readonly T[] {
  const mixed = [...all];
  for (let i = mixed.length - 1; i > 0; i--) {
    const other = random.below(i + 1);
    [mixed[i], mixed[other]] = [mixed[other] as T, mixed[i] as T];
  }
  return mixed;
}

/** Seconds for which a forwarded answer may be cached: 0 for errors other than NXDOMAIN, and for truncated answers. */
function shortestTtl(bytes: Uint8Array): number {
  const code = (bytes[3] ?? 0) & 0x0f;
  const message = decodePacket(bytes);
  if (!message || (code !== 0 && code !== codes.NXDOMAIN) || (message.flags ?? 0) & TRUNCATED_RESPONSE) return 0;
  const records = [...(message.answers ?? []), ...(message.authorities ?? [])];
  return records.length === 0 ? 0 : Math.min(...records.map((one) => ("ttl" in one ? (one.ttl ?? 0) : 0)));
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
