// Answers made of the query, by a pattern.
// Follows CoreDNS: plugin/template/template.go.
import type { Answer } from "dns-packet";
import type { RE2JS } from "re2js";
import { parseIp } from "#schema/ip.ts";
import { CorefileError, type Directive, zoneOf, zonesIn } from "../corefile.ts";
import { codes } from "../message.ts";
import { emptyReply, type PluginType } from "../plugin.ts";
import { type Fallthrough, fallthroughOf } from "./fallthrough.ts";
import { compiled } from "./rewrite.ts";

interface TemplateSettings {
  readonly type: string;
  readonly zones: readonly string[];
  readonly patterns: readonly RE2JS[];
  readonly answers: readonly string[];
  readonly additionals: readonly string[];
  readonly authorities: readonly string[];
  readonly code: number;
  readonly fallthrough: Fallthrough;
}

const responseCodes: Readonly<Record<string, number>> = { NOERROR: 0, ...codes };

export const templatePlugin: PluginType = {
  name: "template",
  make(directive, { zones }) {
    const settings = settingsOf(directive, zones);
    return {
      name: "template",
      async handle(query, next) {
        const zone = zoneOf(query.name, settings.zones);
        if (zone === undefined || (settings.type !== "ANY" && settings.type !== query.type)) return next(query);
        const values = valuesOf(settings.patterns, query.name);
        if (!values) return settings.fallthrough(query.name) ? next(query) : emptyReply(codes.NXDOMAIN);
        const scope = { ...values, Name: `${query.name}.`, Type: query.type, Class: "IN", Zone: zone };
        const records = (texts: readonly string[]) =>
          texts.map((text) => recordIn(filled(text, scope), directive.line));
        return {
          code: settings.code,
          isAuthoritative: true,
          answers: records(settings.answers),
          additionals: records(settings.additionals),
          authorities: records(settings.authorities),
        };
      },
    };
  },
};

function settingsOf({ args, body, line }: Directive, served: readonly string[]): TemplateSettings {
  const [klass = "", type = "", ...zones] = args;
  if (!["IN", "ANY"].includes(klass.toUpperCase())) throw new CorefileError(line, `invalid RR class ${klass}`);
  if (type === "") throw new CorefileError(line, "template CLASS TYPE [ZONE…]");
  const known = new Set(["match", "answer", "additional", "authority", "rcode", "fallthrough", "upstream"]);
  for (const option of body)
    if (!known.has(option.name)) throw new CorefileError(option.line, `unknown property '${option.name}'`);
  const all = (name: string) => body.filter((one) => one.name === name);
  const texts = (name: string) => all(name).flatMap((one) => one.args);
  const rcode = texts("rcode")[0];
  const code = rcode === undefined ? 0 : responseCodes[rcode.toUpperCase()];
  if (code === undefined) throw new CorefileError(line, `unknown rcode '${rcode}'`);
  const [fallthrough] = all("fallthrough");
  return {
    type: type.toUpperCase(),
    zones: zones.length > 0 ? zones.flatMap((text) => zonesIn(text, line)) : served,
    patterns: all("match").flatMap((one) => one.args.map((pattern) => compiled(pattern, one.line))),
    answers: texts("answer"),
    additionals: texts("additional"),
    authorities: texts("authority"),
    code,
    fallthrough: fallthrough ? fallthroughOf(fallthrough) : () => false,
  };
}

/** The groups of the first pattern that matches; undefined if none does. Without patterns everything matches. */
function valuesOf(patterns: readonly RE2JS[], name: string): Readonly<Record<string, string>> | undefined {
  if (patterns.length === 0) return {};
  for (const pattern of patterns) {
    const matcher = pattern.matcher(`${name}.`);
    if (!matcher.find()) continue;
    const values: Record<string, string> = {};
    for (let group = 0; group <= matcher.groupCount(); group++) values[`Match.${group}`] = matcher.group(group) ?? "";
    for (const [group, index] of Object.entries(pattern.namedGroups()))
      values[`Group.${group}`] = matcher.group(Number(index)) ?? "";
    return values;
  }
  return undefined;
}

/** `{{ .Name }}`, `{{ .Group.a }}` and `{{ index .Match 1 }}`; of Go's templates no more. */
const filled = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{\{\s*(?:\.([\w.]+)|index \.Match (\d+))\s*\}\}/g, (_, name?: string, group?: string) => {
    return values[name ?? `Match.${group}`] ?? "";
  });

/** A record as zone files write it: `web.example. 60 IN A 10.0.0.1`. Throws an error that names the record. */
export function recordIn(text: string, line: number): Answer {
  const wrong = (why: string) => new CorefileError(line, `record ${JSON.stringify(text)}: ${why}`);
  const [, owner = "", ttl = "3600", type = "", rest = ""] =
    /^(\S+)\s+(?:(\d+)\s+)?(?:IN\s+)?([A-Z]+)\s+(.*)$/i.exec(text.trim()) ?? [];
  const bare = (name = "") => name.replace(/\.$/, "") || ".";
  const head = { name: bare(owner), ttl: Number(ttl), class: "IN" as const };
  const words = rest.trim().split(/\s+/);
  const number = (at: number): number => {
    const value = Number(words[at] ?? "x");
    if (!Number.isInteger(value) || value < 0) throw wrong(`${words[at]} is no number`);
    return value;
  };
  switch (type.toUpperCase()) {
    case "A":
    case "AAAA": {
      const family = type.toUpperCase() === "A" ? 4 : 6;
      if (parseIp(rest.trim())?.family !== family) throw wrong(`${rest} is no address`);
      return { ...head, type: family === 4 ? "A" : "AAAA", data: rest.trim() };
    }
    case "CNAME":
      return { ...head, type: "CNAME", data: bare(words[0]) };
    case "NS":
      return { ...head, type: "NS", data: bare(words[0]) };
    case "PTR":
      return { ...head, type: "PTR", data: bare(words[0]) };
    case "TXT":
      return { ...head, type: "TXT", data: rest.trim().replaceAll(/^"|"$/g, "") };
    case "MX":
      return { ...head, type: "MX", data: { preference: number(0), exchange: bare(words[1]) } };
    case "SRV":
      return {
        ...head,
        type: "SRV",
        data: { priority: number(0), weight: number(1), port: number(2), target: bare(words[3]) },
      };
    default:
      throw wrong("a type that templates cannot write");
  }
}
