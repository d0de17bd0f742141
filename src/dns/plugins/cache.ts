// Keeps answers for a while.
// Follows CoreDNS: plugin/cache/cache.go.
import type { Answer } from "dns-packet";
import { CorefileError, type Directive, durationMs, isInZone, zonesIn } from "../corefile.ts";
import { codes, truncated } from "../message.ts";
import type { DnsQuery, DnsReply, PluginType } from "../plugin.ts";

interface CacheLimits {
  readonly most: number;
  readonly ttl: number;
  readonly leastTtl: number;
  /** Zones that are not cached. */
  readonly except: readonly string[];
}

interface CacheSettings {
  readonly zones: readonly string[];
  readonly success: CacheLimits;
  readonly denial: CacheLimits;
}

interface ReplyEntry {
  readonly reply: DnsReply;
  /** On the monotonic clock. */
  readonly since: number;
  readonly until: number;
}

const usual = { most: 9984, success: 3600, denial: 1800, leastTtl: 5 };
/** A bit of the header: the client wants answers whose signatures nobody has checked. */
const checkingDisabled = 0x10;
const ignored = new Set(["prefetch", "serve_stale", "servfail", "keepttl"]);

export const cachePlugin: PluginType = {
  name: "cache",
  make(directive, { zones, clock, metrics }) {
    const settings = settingsOf(directive, zones);
    const kept = { success: new Map<string, ReplyEntry>(), denial: new Map<string, ReplyEntry>() };
    const hits = metrics.counter({
      name: "coredns_cache_hits_total",
      help: "The count of cache hits.",
      labels: ["type"],
    });
    const misses = metrics.counter({ name: "coredns_cache_misses_total", help: "The count of cache misses." });
    metrics.reading(() => {
      for (const kind of ["success", "denial"] as const)
        metrics.set("coredns_cache_entries", { type: kind }, kept[kind].size);
    });
    return {
      name: "cache",
      async handle(query, next) {
        if (!settings.zones.some((zone) => isInZone(query.name, zone))) return next(query);
        const key = keyOf(query);
        const now = clock.elapsed();
        for (const kind of ["success", "denial"] as const) {
          const found = kept[kind].get(key);
          if (!found) continue;
          if (found.until > now) {
            hits.of(kind).add();
            return aged(found.reply, Math.floor((now - found.since) / 1000));
          }
          kept[kind].delete(key);
        }
        misses.of().add();
        const reply = await next(query);
        const kind = reply.answers.length > 0 && reply.code === 0 ? "success" : "denial";
        const limits = settings[kind];
        const ttl = cacheableSeconds(reply, limits);
        if (ttl > 0 && !limits.except.some((zone) => isInZone(query.name, zone))) {
          const entries = kept[kind];
          const [oldest] = entries.size >= limits.most ? entries.keys() : [];
          if (oldest !== undefined) entries.delete(oldest);
          entries.set(key, { reply, since: now, until: now + ttl * 1000 });
        }
        return reply;
      },
    };
  },
};

/** Clients that want signatures get other answers. */
const keyOf = ({ name, type, packet, transport }: DnsQuery): string => {
  const edns = packet.additionals?.find((one) => one.type === "OPT");
  const wantsSignatures = edns?.type === "OPT" && edns.flag_do;
  return `${name}\n${type}\n${transport}\n${wantsSignatures ? 1 : 0}${(packet.flags ?? 0) & checkingDisabled}`;
};

function cacheableSeconds({ code, answers, authorities, raw }: DnsReply, { ttl, leastTtl }: CacheLimits): number {
  if ((code !== 0 && code !== codes.NXDOMAIN) || (raw && truncated(raw))) return 0;
  const records = [...answers, ...authorities];
  if (records.length === 0) return 0;
  return Math.min(Math.max(Math.min(...records.map(ttlOf)), leastTtl), ttl);
}

const ttlOf = (record: Answer): number => ("ttl" in record ? (record.ttl ?? 0) : 0);

/** The same answer some seconds later. */
function aged(reply: DnsReply, seconds: number): DnsReply {
  if (seconds === 0) return reply;
  const older = (records: readonly Answer[]) =>
    records.map((record) => ({ ...record, ttl: Math.max(0, ttlOf(record) - seconds) }) as Answer);
  const { raw: _, ...rest } = reply;
  return { ...rest, answers: older(reply.answers), authorities: older(reply.authorities) };
}

function settingsOf({ args, body, line }: Directive, served: readonly string[]): CacheSettings {
  const [first] = args;
  const hasTtl = first !== undefined && /^\d+$/.test(first);
  const most = hasTtl ? Number(first) : undefined;
  const named = (hasTtl ? args.slice(1) : args).flatMap((text) => zonesIn(text, line));
  const limits = (ttl: number): CacheLimits => ({
    most: usual.most,
    ttl: Math.min(ttl, most ?? ttl),
    leastTtl: usual.leastTtl,
    except: [],
  });
  let settings: CacheSettings = {
    zones: named.length > 0 ? named : served,
    success: limits(usual.success),
    denial: limits(usual.denial),
  };
  for (const option of body) {
    const kind = option.name === "disable" ? option.args[0] : option.name;
    if (option.name === "disable") {
      if (kind !== "success" && kind !== "denial")
        throw new CorefileError(option.line, `cache type for disable must be "success" or "denial"`);
      const zones = option.args.slice(1).flatMap((text) => zonesIn(text, option.line));
      const except = zones.length > 0 ? zones : ["."];
      settings = { ...settings, [kind]: { ...settings[kind], except } };
    } else if (kind === "success" || kind === "denial") {
      const [entries = "", ttl, least] = option.args;
      if (!/^\d{1,9}$/.test(entries)) throw new CorefileError(option.line, `${kind} CAPACITY [TTL [MINTTL]]`);
      const before = settings[kind];
      const changed = {
        ...before,
        most: Math.max(1, Number(entries)),
        ...(ttl !== undefined && { ttl: durationMs(ttl, option.line) / 1000 }),
        ...(least !== undefined && { leastTtl: durationMs(least, option.line) / 1000 }),
      };
      settings = { ...settings, [kind]: changed };
    } else if (!ignored.has(option.name)) throw new CorefileError(option.line, `unknown property '${option.name}'`);
  }
  return settings;
}
