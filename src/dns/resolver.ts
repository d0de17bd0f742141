// From a question in bytes to an answer in bytes. Names of the cluster are answered from the zone, all others by someone else.
// The same few questions come again and again, so an answer is kept with the question's bytes, until the zone changes or the
// answer runs out, and only its number is changed: that is what makes it as fast as the socket.
import { type Answer, AUTHORITATIVE_ANSWER, decode, encode, type Packet, TRUNCATED_RESPONSE } from "dns-packet";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { type Found, ttlSeconds, type Zone, type ZoneRecord } from "./zone.ts";

export interface ResolverOptions {
  readonly zone: Zone;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Answers for names that are not the cluster's; without it they are refused. Rejects when nobody answers. */
  readonly forward?: (query: Uint8Array, way: Way) => Promise<Uint8Array>;
}

export type Way = "udp" | "tcp";

/** What a datagram may hold: what the asker says, at least what all can take, at most what no network cuts into pieces. */
const datagram = { least: 512, most: 1232 };
const headBytes = 12;
const mostKept = 10_000;
const forwardedKeepMs = 5_000;
const mostLinks = 8;

interface Kept {
  readonly bytes: Buffer;
  /** On the clock that does not jump. */
  readonly until: number;
}

export class Resolver {
  readonly #options: ResolverOptions;
  #kept = new Map<string, Kept>();

  constructor(options: ResolverOptions) {
    this.#options = options;
  }

  /** To be called when the zone may answer otherwise than before. */
  readonly forget = (): void => {
    if (this.#kept.size > 0) this.#kept = new Map();
  };

  /** The answer, or undefined for what deserves none. */
  answer(query: Buffer, way: Way): Buffer | Promise<Buffer> | undefined {
    if (query.length < headBytes || ((query[2] ?? 0) & 0x80) !== 0) return undefined; // no question, or an answer
    const key = `${way}${query.toString("latin1", 2)}`;
    const kept = this.#kept.get(key);
    if (kept && kept.until > this.#options.clock.elapsed()) return numbered(kept.bytes, query);
    return this.#resolve(query, way, key);
  }

  #resolve(query: Buffer, way: Way, key: string): Buffer | Promise<Buffer> {
    const asked = decoded(query);
    if (!asked) return failure(query, "FORMERR");
    if ((((query[2] ?? 0) >> 3) & 0xf) !== 0) return failure(query, "NOTIMP", asked);
    const [question] = asked.questions ?? [];
    if (!question || (asked.questions?.length ?? 0) > 1) return failure(query, "FORMERR");
    if (question.class !== "IN") return failure(query, "REFUSED", asked);
    const name = question.name.toLowerCase();
    const found = this.#options.zone.find(name, question.type);
    if (!found) return this.#elsewhere(query, asked, way, key);
    const link = found.answers[0];
    if (link?.type === "CNAME" && question.type !== "CNAME") return this.#linked(query, asked, way, found);
    const bytes = this.#reply(query, asked, way, found);
    if (found.answers.length < 2) this.#keep(key, bytes, ttlSeconds * 1000); // several are told in another order each time
    return bytes;
  }

  async #elsewhere(query: Buffer, asked: Packet, way: Way, key: string): Promise<Buffer> {
    const { forward } = this.#options;
    if (!forward) return failure(query, "REFUSED", asked);
    try {
      const bytes = Buffer.from(await forward(query, way));
      const ttl = shortestTtl(bytes);
      if (ttl > 0) this.#keep(key, bytes, Math.min(ttl * 1000, forwardedKeepMs));
      return numbered(bytes, query);
    } catch (error) {
      this.#options.log.warn("dns question could not be forwarded", { error: explain(error) });
      return failure(query, "SERVFAIL", asked);
    }
  }

  /** A name that stands for another, with what that one is, as far as it can be found out. */
  async #linked(query: Buffer, asked: Packet, way: Way, first: Found): Promise<Buffer> {
    const { zone, forward } = this.#options;
    const type = asked.questions?.[0]?.type ?? "A";
    const answers: Answer[] = [];
    let found: Found | undefined = first;
    for (let links = 0; links < mostLinks; links++) {
      answers.push(...(found?.answers ?? []).map(toAnswer));
      const last = found?.answers[0];
      if (last?.type !== "CNAME") break;
      found = zone.find(last.data.toLowerCase(), type);
      if (found) continue;
      if (forward) answers.push(...(await answersFrom(forward, last.data, type, way)));
      break;
    }
    return fitted(query, asked, way, { flags: AUTHORITATIVE_ANSWER, answers });
  }

  #reply(query: Buffer, asked: Packet, way: Way, { exists, answers, additionals }: Found): Buffer {
    const { random, zone } = this.#options;
    const flags = AUTHORITATIVE_ANSWER | (exists ? 0 : codes.NXDOMAIN);
    return fitted(query, asked, way, {
      flags,
      answers: shuffled(answers, random).map(toAnswer),
      additionals: additionals.map(toAnswer),
      ...(answers.length === 0 && { authorities: [toAnswer(zone.authority)] }),
    });
  }

  #keep(key: string, bytes: Buffer, ms: number): void {
    if (this.#kept.size >= mostKept) this.#kept = new Map();
    this.#kept.set(key, { bytes, until: this.#options.clock.elapsed() + ms });
  }
}

const codes = { FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const;
const recursionAvailable = 0x80;

function decoded(bytes: Uint8Array): Packet | undefined {
  try {
    return decode(Buffer.from(bytes));
  } catch {
    return undefined; // the reader throws all kinds of errors at bytes that are no message
  }
}

/** The answer for another question of the same bytes: only the number at its head differs. */
function numbered(bytes: Buffer, query: Buffer): Buffer {
  const copy = Buffer.allocUnsafe(bytes.length);
  bytes.copy(copy);
  copy[0] = query[0] ?? 0;
  copy[1] = query[1] ?? 0;
  return copy;
}

/** An answer that says no more than the code, with the question if it could be read: some askers want to see it again. */
function failure(query: Buffer, code: keyof typeof codes, asked?: Packet): Buffer {
  if (asked) return fitted(query, asked, "udp", { flags: codes[code] });
  const bytes = Buffer.alloc(headBytes);
  query.copy(bytes, 0, 0, 2);
  bytes[2] = 0x80 | kindOf(query);
  bytes[3] = codes[code];
  return bytes;
}

/** What is asked for besides the question: the kind of it, and whether others are to be asked. */
const kindOf = (query: Buffer): number => (query[2] ?? 0) & 0x79;

/** The message in no more bytes than the asker can take; what does not fit is left out, and that is said. */
function fitted(query: Buffer, asked: Packet, way: Way, { flags = 0, ...rest }: Packet): Buffer {
  const edns = asked.additionals?.find((one) => one.type === "OPT");
  const said = edns?.type === "OPT" ? (edns.udpPayloadSize ?? 0) : 0;
  const limit = way === "tcp" ? 65_535 : Math.min(Math.max(said, datagram.least), datagram.most);
  const message = (parts: Packet, isCut: boolean): Buffer => {
    const bytes = encode({
      type: "response",
      id: asked.id ?? 0,
      flags: flags | recursionAvailable | (kindOf(query) << 8) | (isCut ? TRUNCATED_RESPONSE : 0),
      questions: asked.questions ?? [],
      ...parts,
      additionals: [
        ...(parts.additionals ?? []),
        ...(edns ? [{ type: "OPT", name: ".", udpPayloadSize: datagram.most } as Answer] : []),
      ],
    });
    // It writes the code of success over ours.
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

/** Askers tend to take the first. */
function shuffled<T>(all: readonly T[], random: Random): readonly T[] {
  const mixed = [...all];
  for (let i = mixed.length - 1; i > 0; i--) {
    const other = random.below(i + 1);
    [mixed[i], mixed[other]] = [mixed[other] as T, mixed[i] as T];
  }
  return mixed;
}

/** Seconds for which an answer of another server may be kept: 0 for one that is not a plain yes or no. */
function shortestTtl(bytes: Uint8Array): number {
  const code = (bytes[3] ?? 0) & 0x0f;
  const message = decoded(bytes);
  if (!message || (code !== 0 && code !== codes.NXDOMAIN) || (message.flags ?? 0) & TRUNCATED_RESPONSE) return 0;
  const records = [...(message.answers ?? []), ...(message.authorities ?? [])];
  return records.length === 0 ? 0 : Math.min(...records.map((one) => ("ttl" in one ? (one.ttl ?? 0) : 0)));
}

async function answersFrom(
  forward: NonNullable<ResolverOptions["forward"]>,
  name: string,
  type: NonNullable<Packet["questions"]>[number]["type"],
  way: Way,
): Promise<readonly Answer[]> {
  try {
    const query = encode({ type: "query", id: 0, flags: 0x100, questions: [{ type, name, class: "IN" }] });
    return decoded(await forward(query, way))?.answers ?? [];
  } catch {
    return []; // the link alone is an answer, too
  }
}
