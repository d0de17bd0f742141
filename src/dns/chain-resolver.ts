// Answers DNS queries as a Corefile says, bytes to bytes: each server block is a chain of plugins.
// Follows CoreDNS: core/dnsserver/server.go.
import { AUTHORITATIVE_ANSWER, type Packet } from "dns-packet";
import { explain } from "#base/errors.ts";
import { type Corefile, CorefileError, type ServerBlock, zoneOf } from "./corefile.ts";
import { codes, type DnsTransport, decodePacket, encodeWithin, failure, headerBytes, passedOn } from "./message.ts";
import {
  type DnsHandler,
  type DnsPlugin,
  type DnsPluginContext,
  type DnsQuery,
  type DnsReply,
  emptyReply,
} from "./plugin.ts";
import { pluginTypes } from "./plugins/list.ts";

export type ChainContext = Omit<DnsPluginContext, "zones" | "lookup">;

interface Chain {
  readonly zones: readonly string[];
  readonly plugins: readonly DnsPlugin[];
  readonly handle: DnsHandler;
}

/** The server of one port. */
export class ChainResolver {
  readonly #chains: readonly Chain[];
  readonly #context: ChainContext;

  /** Throws CorefileError. */
  constructor(corefile: Corefile, port: number, context: ChainContext) {
    this.#context = context;
    this.#chains = corefile.blocks.flatMap((block) => {
      const zones = block.zones.filter((served) => served.port === port).map(({ zone }) => zone);
      return zones.length === 0 ? [] : [chainOf(block, { ...context, zones, lookup: (query) => this.#handle(query) })];
    });
  }

  /** To be called once queries are answered. */
  started(): void {
    for (const { plugins } of this.#chains) for (const plugin of plugins) plugin.started?.();
  }

  /** The answer; undefined for packets that are no query. */
  answer(query: Buffer, transport: DnsTransport, client = ""): Buffer | Promise<Buffer> | undefined {
    if (query.length < headerBytes || ((query[2] ?? 0) & 0x80) !== 0) return undefined;
    const packet = decodePacket(query);
    if (!packet) return failure(query, "FORMERR");
    if ((((query[2] ?? 0) >> 3) & 0xf) !== 0) return failure(query, "NOTIMP", packet);
    const [question] = packet.questions ?? [];
    if (!question || (packet.questions?.length ?? 0) > 1) return failure(query, "FORMERR");
    if (question.class !== "IN") return failure(query, "REFUSED", packet);
    const name = question.name.toLowerCase();
    return this.#answer(query, { name, type: question.type, transport, packet, client });
  }

  async #answer(bytes: Buffer, query: DnsQuery): Promise<Buffer> {
    try {
      return encoded(bytes, query.packet, query.transport, await this.#handle(query));
    } catch (error) {
      this.#context.log.debug("query failed", { name: query.name, error: explain(error) });
      return failure(bytes, "SERVFAIL", query.packet);
    }
  }

  async #handle(query: DnsQuery): Promise<DnsReply> {
    const zone = zoneOf(
      query.name,
      this.#chains.flatMap(({ zones }) => zones),
    );
    const chain = zone === undefined ? undefined : this.#chains.find(({ zones }) => zones.includes(zone));
    return chain ? chain.handle(query) : emptyReply(codes.REFUSED);
  }
}

function chainOf({ directives, zones }: ServerBlock, context: DnsPluginContext): Chain {
  const unknown = directives.find(({ name }) => !pluginTypes.some((type) => type.name === name));
  if (unknown) throw new CorefileError(unknown.line, `unknown directive '${unknown.name}'`);
  const plugins = pluginTypes.flatMap((type) =>
    directives.filter(({ name }) => name === type.name).map((directive) => type.make(directive, context)),
  );
  const last: DnsHandler = async () => emptyReply(codes.REFUSED);
  const handle = plugins.reduceRight<DnsHandler>((next, plugin) => {
    return (query) => (plugin.handle ? plugin.handle(query, next) : next(query));
  }, last);
  return { zones: zones.map(({ zone }) => zone), plugins, handle };
}

function encoded(query: Buffer, request: Packet, transport: DnsTransport, reply: DnsReply): Buffer {
  const whole = reply.raw && passedOn(reply.raw, query, request, transport);
  if (whole) return whole;
  return encodeWithin(query, request, transport, {
    flags: reply.code | (reply.isAuthoritative ? AUTHORITATIVE_ANSWER : 0),
    answers: [...reply.answers],
    authorities: [...reply.authorities],
    additionals: [...reply.additionals],
  });
}
