// Names from a hosts file, or from lines of the Corefile itself.
// Follows CoreDNS: plugin/hosts/hosts.go.
import { formatIp, parseIp } from "#schema/ip.ts";
import { CorefileError, type Directive, zoneOf, zonesIn } from "../corefile.ts";
import { codes } from "../message.ts";
import { emptyReply, type PluginType } from "../plugin.ts";
import { addressOfReverse } from "../reverse.ts";
import { type Fallthrough, fallthroughOf } from "./fallthrough.ts";

const usualTtl = 3600;
const reloadMs = 5000;

interface HostsTable {
  readonly addresses: ReadonlyMap<string, readonly string[]>;
  readonly names: ReadonlyMap<string, readonly string[]>;
}

export const hostsPlugin: PluginType = {
  name: "hosts",
  make(directive, { zones: served, readText, clock }) {
    const { path, inline, ttl, hasReverse, fallthrough, zones } = settingsOf(directive, served);
    let table = tableOf([...inline, ...linesOf(readText, path)]);
    let readAt = clock.elapsed();
    const current = (): HostsTable => {
      if (path !== undefined && clock.elapsed() - readAt >= reloadMs) {
        readAt = clock.elapsed();
        table = tableOf([...inline, ...linesOf(readText, path)]);
      }
      return table;
    };
    return {
      name: "hosts",
      async handle(query, next) {
        const { name, type } = query;
        const isServed = zoneOf(name, zones) !== undefined;
        const reverse = hasReverse && type === "PTR" ? addressOfReverse(name) : undefined;
        const { addresses, names } = current();
        const record = { name, ttl, class: "IN" as const };
        const targets = reverse === undefined ? undefined : names.get(reverse);
        if (targets)
          return {
            ...emptyReply(0),
            isAuthoritative: true,
            answers: targets.map((data) => ({ ...record, type: "PTR" as const, data })),
          };
        const own = isServed ? addresses.get(name) : undefined;
        if (!own) {
          if (!isServed || fallthrough(name)) return next(query);
          return { ...emptyReply(codes.NXDOMAIN), isAuthoritative: true };
        }
        const answers = own
          .map((data) => ({ ...record, type: data.includes(":") ? ("AAAA" as const) : ("A" as const), data }))
          .filter((answer) => answer.type === type);
        return { ...emptyReply(0), isAuthoritative: true, answers };
      },
    };
  },
};

interface HostsSettings {
  readonly path: string | undefined;
  readonly inline: readonly string[];
  readonly ttl: number;
  readonly hasReverse: boolean;
  readonly fallthrough: Fallthrough;
  readonly zones: readonly string[];
}

function settingsOf({ args, body, line }: Directive, served: readonly string[]): HostsSettings {
  const [first, ...rest] = args;
  const isPath = first?.startsWith("/") ?? false;
  const named = isPath ? rest : args;
  const inline = body.filter(({ name }) => parseIp(name)).map(({ name, args: names }) => [name, ...names].join(" "));
  const options = body.filter(({ name }) => !parseIp(name));
  const known = new Set(["ttl", "no_reverse", "reload", "fallthrough"]);
  for (const option of options)
    if (!known.has(option.name)) throw new CorefileError(option.line, `unknown property '${option.name}'`);
  const option = (name: string) => options.find((one) => one.name === name);
  const ttl = Number(option("ttl")?.args[0] ?? usualTtl);
  if (!Number.isInteger(ttl) || ttl <= 0 || ttl > 65_535)
    throw new CorefileError(line, "ttl is a number from 1 to 65535");
  const fallthrough = option("fallthrough");
  return {
    path: isPath ? first : inline.length === 0 ? "/etc/hosts" : undefined,
    inline,
    ttl,
    hasReverse: option("no_reverse") === undefined,
    fallthrough: fallthrough ? fallthroughOf(fallthrough) : () => false,
    zones: named.length > 0 ? named.flatMap((text) => zonesIn(text, line)) : served,
  };
}

const linesOf = (readText: (path: string) => string, path: string | undefined): readonly string[] =>
  path === undefined ? [] : readText(path).split("\n");

function tableOf(lines: readonly string[]): HostsTable {
  const [addresses, names] = [new Map<string, string[]>(), new Map<string, string[]>()];
  for (const line of lines) {
    const [address = "", ...hosts] = (line.split("#")[0] ?? "").trim().split(/\s+/);
    const parsed = parseIp(address);
    if (!parsed) continue;
    const text = formatIp(parsed);
    for (const host of hosts) {
      const name = host.toLowerCase().replace(/\.$/, "");
      addresses.set(name, [...new Set([...(addresses.get(name) ?? []), text])]);
      names.set(text, [...(names.get(text) ?? []), name]);
    }
  }
  return { addresses, names };
}
