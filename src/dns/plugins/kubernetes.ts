// Names of services, their endpoints and pods.
// Follows CoreDNS: plugin/kubernetes/kubernetes.go.
import type { Answer } from "dns-packet";
import { CorefileError, type Directive, isInZone, zoneOf, zonesIn } from "../corefile.ts";
import { codes } from "../message.ts";
import { type DnsHandler, type DnsQuery, type DnsReply, emptyReply, type PluginType } from "../plugin.ts";
import { DnsZone, type ZoneAnswer, type ZoneRecord } from "../zone.ts";
import { type Fallthrough, fallthroughOf } from "./fallthrough.ts";

interface KubernetesSettings {
  readonly zones: readonly string[];
  readonly ttl: number;
  readonly hasPods: boolean;
  readonly namespaces: ReadonlySet<string> | undefined;
  readonly fallthrough: Fallthrough;
}

const usualTtl = 5;
const mostLinks = 8;
/** Options that change nothing here: what they ask for is always so, or is said by the pod's own account. */
const ignored = new Set([
  "endpoint_pod_names",
  "noendpoints",
  "ignore",
  "kubeconfig",
  "endpoint",
  "tls",
  "startup_timeout",
]);

export const kubernetesPlugin: PluginType = {
  name: "kubernetes",
  make(directive, context) {
    const settings = settingsOf(directive, context.zones);
    const directory = context.directory();
    const domains = settings.zones.filter((zone) => !zone.endsWith(".arpa"));
    const zones = domains.map((domain) => new DnsZone(domain, directory, context.servers));
    const find = (name: string, type: string): ZoneAnswer | undefined => {
      for (const zone of zones) {
        const found = zone.find(name, type);
        if (found) return found;
      }
      return undefined;
    };
    return {
      name: "kubernetes",
      async handle(query, next) {
        const zone = zoneOf(query.name, settings.zones);
        if (zone === undefined) return next(query);
        if (!context.hasDirectory()) throw new Error("the objects of the cluster are not known yet");
        const found = isHidden(query.name, domains, settings) ? undefined : find(query.name, query.type);
        const authority = zones[0] ? [recordOf(zones[0].authority, settings.ttl)] : [];
        if (!found?.exists && settings.fallthrough(query.name)) return next(query);
        if (!found?.exists) return { ...emptyReply(codes.NXDOMAIN, authority), isAuthoritative: true };
        return replyOf(found, { query, ttl: settings.ttl, authority, lookup: context.lookup });
      },
    };
  },
};

function settingsOf({ args, body, line }: Directive, served: readonly string[]): KubernetesSettings {
  const zones = args.length > 0 ? args.flatMap((text) => zonesIn(text, line)) : served;
  let settings: KubernetesSettings = {
    zones,
    ttl: usualTtl,
    hasPods: false,
    namespaces: undefined,
    fallthrough: () => false,
  };
  for (const option of body) {
    const [first = ""] = option.args;
    if (option.name === "ttl") {
      const ttl = Number(first);
      if (!Number.isInteger(ttl) || ttl < 0 || ttl > 3600)
        throw new CorefileError(option.line, `ttl must be in range [0, 3600]: ${first}`);
      settings = { ...settings, ttl };
    } else if (option.name === "pods") {
      if (first === "verified")
        throw new CorefileError(option.line, "pods verified is not supported: use insecure or disabled");
      if (!["disabled", "insecure"].includes(first))
        throw new CorefileError(option.line, `wrong value for pods: ${first}`);
      settings = { ...settings, hasPods: first === "insecure" };
    } else if (option.name === "namespaces") settings = { ...settings, namespaces: new Set(option.args) };
    else if (option.name === "fallthrough") settings = { ...settings, fallthrough: fallthroughOf(option) };
    else if (!ignored.has(option.name)) throw new CorefileError(option.line, `unknown property '${option.name}'`);
  }
  return settings;
}

/** Names that the settings leave out. */
function isHidden(name: string, domains: readonly string[], { hasPods, namespaces }: KubernetesSettings): boolean {
  const domain = domains.find((one) => isInZone(name, one));
  if (domain === undefined || name === domain) return false;
  const labels = name.slice(0, -domain.length - 1).split(".");
  const kind = labels.at(-1);
  const namespace = labels.at(-2);
  if (kind === "pod" && !hasPods) return true;
  return namespace !== undefined && (kind === "svc" || kind === "pod") && namespaces?.has(namespace) === false;
}

interface ReplyParts {
  readonly query: DnsQuery;
  readonly ttl: number;
  readonly authority: readonly Answer[];
  readonly lookup: DnsHandler;
}

/** A CNAME is followed as a client would, and told with where it leads. */
async function replyOf(found: ZoneAnswer, { query, ttl, authority, lookup }: ReplyParts): Promise<DnsReply> {
  const answers = found.answers.map((record) => recordOf(record, ttl));
  const [first] = found.answers;
  if (first?.type === "CNAME" && query.type !== "CNAME") {
    const depth = linksOf(query);
    if (depth < mostLinks) {
      const target = await lookup(linkedQuery(query, first.data, depth + 1));
      answers.push(...target.answers);
    }
  }
  return {
    code: 0,
    isAuthoritative: true,
    answers,
    authorities: answers.length === 0 ? authority : [],
    additionals: found.additionals.map((record) => recordOf(record, ttl)),
  };
}

/** How many CNAMEs led to a query, which is noted in its client: a query of our own has none. */
const linksOf = ({ client }: DnsQuery): number => Number(/^link (\d+)$/.exec(client)?.[1] ?? 0);

const linkedQuery = (query: DnsQuery, name: string, depth: number): DnsQuery => ({
  ...query,
  name: name.toLowerCase(),
  packet: {
    ...query.packet,
    questions: (query.packet.questions ?? []).map((question) => ({ ...question, name })),
  },
  client: `link ${depth}`,
});

const recordOf = (record: ZoneRecord, ttl: number): Answer => ({ ...record, ttl, class: "IN" }) as Answer;
