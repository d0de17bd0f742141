// DNS messages, between bytes and packets: what an answer repeats of its query, and how it is cut to what the client accepts.
import { type Answer, decode, encode, type Packet, TRUNCATED_RESPONSE } from "dns-packet";
import type { Random } from "#base/random.ts";
import { ttlSeconds, type ZoneRecord } from "./zone.ts";

export type DnsTransport = "udp" | "tcp";

/** Bytes of a UDP answer: what the client offers by EDNS, within these bounds. Beyond 1232 datagrams may be fragmented. */
const datagram = { least: 512, most: 1232 };
export const headerBytes = 12;

export const codes = { FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const;
const recursionAvailable = 0x80;

export function decodePacket(bytes: Uint8Array): Packet | undefined {
  try {
    return decode(Buffer.from(bytes));
  } catch {
    return undefined; // the reader throws all kinds of errors at bytes that are no message
  }
}

/** A copy of a cached answer with the id of this query. */
export function withIdOf(bytes: Buffer, query: Buffer): Buffer {
  const copy = Buffer.allocUnsafe(bytes.length);
  bytes.copy(copy);
  copy[0] = query[0] ?? 0;
  copy[1] = query[1] ?? 0;
  return copy;
}

/** An answer with an error code, and the question if it could be parsed: some clients check that. */
export function failure(query: Buffer, code: keyof typeof codes, request?: Packet): Buffer {
  if (request) return encodeWithin(query, request, "udp", { flags: codes[code] });
  const bytes = Buffer.alloc(headerBytes);
  query.copy(bytes, 0, 0, 2);
  bytes[2] = 0x80 | opcodeAndRd(query);
  bytes[3] = codes[code];
  return bytes;
}

/** The opcode and the recursion-desired bit of a query, which its answer repeats. */
const opcodeAndRd = (query: Buffer): number => (query[2] ?? 0) & 0x79;

/** Bytes that the client accepts. */
function limitOf(request: Packet, transport: DnsTransport): number {
  const edns = request.additionals?.find((one) => one.type === "OPT");
  const offered = edns?.type === "OPT" ? (edns.udpPayloadSize ?? 0) : 0;
  return transport === "tcp" ? 65_535 : Math.min(Math.max(offered, datagram.least), datagram.most);
}

/** Encodes an answer in no more bytes than the client accepts; records that do not fit are left out, and TC is set. */
export function encodeWithin(
  query: Buffer,
  request: Packet,
  transport: DnsTransport,
  { flags = 0, ...rest }: Packet,
): Buffer {
  const edns = request.additionals?.find((one) => one.type === "OPT");
  const limit = limitOf(request, transport);
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

export const toAnswer = (record: ZoneRecord): Answer => ({ ...record, ttl: ttlSeconds, class: "IN" }) as Answer;

/** Clients tend to take the first address. */
export function shuffled<T>(all: readonly T[], random: Random): readonly T[] {
  const mixed = [...all];
  for (let i = mixed.length - 1; i > 0; i--) {
    const other = random.below(i + 1);
    [mixed[i], mixed[other]] = [mixed[other] as T, mixed[i] as T];
  }
  return mixed;
}

/** Seconds for which a forwarded answer may be cached: 0 for errors other than NXDOMAIN, and for truncated answers. */
export function shortestTtl(bytes: Uint8Array): number {
  const code = (bytes[3] ?? 0) & 0x0f;
  const message = decodePacket(bytes);
  if (!message || (code !== 0 && code !== codes.NXDOMAIN) || (message.flags ?? 0) & TRUNCATED_RESPONSE) return 0;
  const records = [...(message.answers ?? []), ...(message.authorities ?? [])];
  return records.length === 0 ? 0 : Math.min(...records.map((one) => ("ttl" in one ? (one.ttl ?? 0) : 0)));
}

/** Whether records were left out, so that the client has to ask again over TCP. */
export const truncated = (bytes: Buffer): boolean => ((bytes[2] ?? 0) & 0x02) !== 0;

/** The answer of another server as it came, under the id of this query; undefined if it is longer than the client accepts. */
export function passedOn(raw: Buffer, query: Buffer, request: Packet, transport: DnsTransport): Buffer | undefined {
  return raw.length <= limitOf(request, transport) ? withIdOf(raw, query) : undefined;
}
