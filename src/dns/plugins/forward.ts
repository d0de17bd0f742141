// Sends queries to other servers.
// Follows CoreDNS: plugin/forward/forward.go.
import { type Answer, encode } from "dns-packet";
import { explain } from "#base/errors.ts";
import type { Random } from "#base/random.ts";
import { CorefileError, type Directive, isInZone, zonesIn } from "../corefile.ts";
import { codes, decodePacket, shuffled } from "../message.ts";
import { type DnsReply, emptyReply, type PluginType } from "../plugin.ts";

const policies = ["random", "round_robin", "sequential"] as const;
type Policy = (typeof policies)[number];
/** Options about connections that we hold no more of than we need. */
const ignored = new Set([
  "prefer_udp",
  "max_fails",
  "expire",
  "health_check",
  "tls",
  "tls_servername",
  "failover",
  "max_idle_conns",
  "max_age",
]);
const mostServers = 15;

export const forwardPlugin: PluginType = {
  name: "forward",
  make(directive, { readText, upstream, random, log, metrics }) {
    const { zone, servers, policy, except, byTcp, mostAtOnce } = settingsOf(directive, readText);
    const asking = servers.map((server) => ({ server, ask: upstream(server) }));
    const requests = metrics.counter({
      name: "coredns_proxy_request_total",
      help: "Counter of requests made per upstream.",
      labels: ["to", "rcode"],
    });
    let turn = 0;
    let waiting = 0;
    return {
      name: "forward",
      async handle(query, next) {
        const isMeant = isInZone(query.name, zone) && !except.some((other) => isInZone(query.name, other));
        if (!isMeant) return next(query);
        if (waiting >= mostAtOnce) return emptyReply(codes.REFUSED);
        waiting++;
        try {
          const bytes = encode({ ...query.packet, type: "query" });
          const failures: string[] = [];
          for (const { server, ask } of ordered(asking, policy, turn++, random))
            try {
              const answer = Buffer.from(await ask(bytes, byTcp ? "tcp" : query.transport));
              const reply = replyIn(answer);
              requests.of(server, String(reply.code)).add();
              return reply;
            } catch (error) {
              failures.push(explain(error));
            }
          throw new Error(`no server answers: ${failures.join("; ")}`);
        } finally {
          waiting--;
        }
      },
      started() {
        if (servers.length === 0) log.warn("there is no server to forward queries to", { zone });
      },
    };
  },
};

interface ForwardSettings {
  readonly zone: string;
  readonly servers: readonly string[];
  readonly policy: Policy;
  readonly except: readonly string[];
  readonly byTcp: boolean;
  readonly mostAtOnce: number;
}

function settingsOf({ args, body, line }: Directive, readText: (path: string) => string): ForwardSettings {
  const [from, ...to] = args;
  if (from === undefined || to.length === 0) throw new CorefileError(line, "forward FROM TO…");
  const servers = to.flatMap((text) => serversIn(text, line, readText));
  if (servers.length > mostServers) throw new CorefileError(line, `more than ${mostServers} TOs configured`);
  let settings: ForwardSettings = {
    zone: zonesIn(from, line)[0] ?? ".",
    servers,
    policy: "random",
    except: [],
    byTcp: false,
    mostAtOnce: Number.POSITIVE_INFINITY,
  };
  for (const option of body) {
    const [first = ""] = option.args;
    if (option.name === "policy") {
      const policy = policies.find((one) => one === first);
      if (!policy) throw new CorefileError(option.line, `unknown policy '${first}'`);
      settings = { ...settings, policy };
    } else if (option.name === "except") {
      const except = option.args.flatMap((text) => zonesIn(text, option.line));
      settings = { ...settings, except };
    } else if (option.name === "force_tcp") settings = { ...settings, byTcp: true };
    else if (option.name === "max_concurrent") {
      const most = Number(first);
      if (!Number.isInteger(most) || most < 0)
        throw new CorefileError(option.line, `max_concurrent must be a number: ${first}`);
      settings = { ...settings, mostAtOnce: most === 0 ? Number.POSITIVE_INFINITY : most };
    } else if (!ignored.has(option.name)) throw new CorefileError(option.line, `unknown property '${option.name}'`);
  }
  return settings;
}

/** An address, or a file such as /etc/resolv.conf. */
function serversIn(text: string, line: number, readText: (path: string) => string): readonly string[] {
  if (text.startsWith("/"))
    return readText(text)
      .split("\n")
      .flatMap((one) => /^nameserver\s+(\S+)/.exec(one.trim())?.[1] ?? []);
  const plain = text.replace(/^dns:\/\//, "");
  if (/^[a-z]+:\/\//.test(plain)) throw new CorefileError(line, `${JSON.stringify(text)}: only plain DNS is spoken`);
  if (!/^(\d+\.\d+\.\d+\.\d+|[0-9a-f:]+|\[[0-9a-f:]+\])(:\d+)?$/i.test(plain))
    throw new CorefileError(line, `not an IP address or file: ${JSON.stringify(text)}`);
  return [plain];
}

function ordered<T>(all: readonly T[], policy: Policy, turn: number, random: Random): readonly T[] {
  if (policy === "sequential" || all.length < 2) return all;
  if (policy === "random") return shuffled(all, random);
  const first = turn % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

/** What another server said. Whoever passes it on as it is needs no more than its code. */
function replyIn(raw: Buffer): DnsReply {
  const packet = decodePacket(raw);
  const records = (all: readonly Answer[] | undefined) => all ?? [];
  return {
    code: (raw[3] ?? 0) & 0x0f,
    isAuthoritative: false,
    answers: records(packet?.answers),
    authorities: records(packet?.authorities),
    additionals: records(packet?.additionals).filter(({ type }) => type !== "OPT"),
    raw,
  };
}
