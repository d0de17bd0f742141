// Asks for other names or types than the client did, and answers in the client's words.
// Follows CoreDNS: plugin/rewrite/rewrite.go.
import type { Answer, Packet } from "dns-packet";
import { RE2JS } from "re2js";
import { CorefileError, type Directive } from "../corefile.ts";
import type { DnsQuery, DnsReply, PluginType } from "../plugin.ts";

/** The name or the type to ask for instead; undefined where the rule does not apply. */
type Rule = (query: DnsQuery) => Pick<DnsQuery, "name" | "type"> | undefined;

export const rewritePlugin: PluginType = {
  name: "rewrite",
  make(directive) {
    const { rule, answersFrom } = ruleOf(directive);
    return {
      name: "rewrite",
      async handle(query, next) {
        const changed = rule(query);
        if (!changed) return next(query);
        const reply = await next(queryWith(query, changed));
        return renamed(reply, (name) =>
          name.toLowerCase() === changed.name ? query.name : (answersFrom?.(name) ?? name),
        );
      },
    };
  },
};

type Question = NonNullable<Packet["questions"]>[number];

const queryWith = (query: DnsQuery, { name, type }: Pick<DnsQuery, "name" | "type">): DnsQuery => ({
  ...query,
  name,
  type,
  packet: {
    ...query.packet,
    // A type that nobody knows is told to nobody: the words of the Corefile were checked.
    questions: (query.packet.questions ?? []).map((question) => ({
      ...question,
      name,
      type: type as Question["type"],
    })),
  },
});

/** An answer that came from elsewhere repeats another question than the client's, so it is written anew. */
function renamed({ raw: _, ...reply }: DnsReply, toName: (name: string) => string): DnsReply {
  const records = (all: readonly Answer[]) => all.map((record) => ({ ...record, name: toName(record.name) }));
  return { ...reply, answers: records(reply.answers), additionals: records(reply.additionals) };
}

const types = ["A", "AAAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT", "HINFO", "CAA"];

function ruleOf(directive: Directive): {
  readonly rule: Rule;
  readonly answersFrom?: (name: string) => string | undefined;
} {
  const { line } = directive;
  const args = [...directive.args];
  if (args[0] === "stop" || args[0] === "continue") args.shift();
  const [field, ...rest] = args;
  if (field === "type") {
    const [from = "", to = ""] = rest.map((text) => text.toUpperCase());
    if (!types.includes(from) || !types.includes(to)) throw new CorefileError(line, "rewrite type FROM TO");
    return { rule: ({ name, type }) => (type === from ? { name, type: to } : undefined) };
  }
  if (field !== "name") throw new CorefileError(line, `rewrite knows name and type, not '${field ?? ""}'`);
  const forms = ["exact", "prefix", "suffix", "substring", "regex"];
  const form = forms.includes(rest[0] ?? "") ? (rest.shift() ?? "exact") : "exact";
  const [from = "", to = "", ...more] = rest;
  if (from === "" || to === "")
    throw new CorefileError(line, "rewrite name [exact|prefix|suffix|substring|regex] FROM TO");
  const answersFrom = answerRule(more, directive);
  const change = nameChange(form, plain(from), plain(to), line);
  const rule: Rule = ({ name, type }) => {
    const changed = change(name);
    return changed === undefined || changed === name || changed.length > 253 ? undefined : { name: changed, type };
  };
  return { rule, ...(answersFrom && { answersFrom }) };
}

const plain = (name: string): string => name.toLowerCase().replace(/(?<=.)\.$/, "");

function nameChange(form: string, from: string, to: string, line: number): (name: string) => string | undefined {
  if (form === "exact") return (name) => (name === from ? to : undefined);
  if (form === "prefix") return (name) => (name.startsWith(from) ? to + name.slice(from.length) : undefined);
  if (form === "suffix") return (name) => (name.endsWith(from) ? name.slice(0, -from.length) + to : undefined);
  if (form === "substring") return (name) => (name.includes(from) ? name.replaceAll(from, to) : undefined);
  return regexChange(from, to, line);
}

function regexChange(from: string, to: string, line: number): (name: string) => string | undefined {
  const pattern = compiled(from, line);
  return (name) => {
    // The final dot may be in the pattern.
    const matcher = pattern.matcher(`${name}.`);
    if (!matcher.find()) return undefined;
    return plain(to.replaceAll(/\{(\d)\}/g, (_, group: string) => groupOf(matcher, Number(group))));
  };
}

const groupOf = (matcher: ReturnType<RE2JS["matcher"]>, group: number): string =>
  group <= matcher.groupCount() ? (matcher.group(group) ?? "") : "";

/** Throws CorefileError. */
export function compiled(pattern: string, line: number): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (cause) {
    throw new CorefileError(line, `invalid regex ${JSON.stringify(pattern)}: ${String(cause)}`);
  }
}

/** `answer auto`, or `answer name FROM TO` for names of records that the question does not have. */
function answerRule(
  args: readonly string[],
  { body, line }: Directive,
): ((name: string) => string | undefined) | undefined {
  const inBody = body.find(({ name }) => name === "answer")?.args;
  const rest = args[0] === "answer" ? args.slice(1) : (inBody ?? []);
  const [first, from, to] = rest;
  if (first === undefined || first === "auto") return undefined;
  if (first !== "name" || from === undefined || to === undefined)
    throw new CorefileError(line, "answer auto | answer name FROM TO");
  return regexChange(plain(from), plain(to), line);
}
