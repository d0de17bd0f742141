// Reads a Corefile: blocks of zones with directives, in the syntax that CoreDNS took over from Caddy.
// Follows CoreDNS: core/dnsserver/register.go.

export interface Corefile {
  readonly blocks: readonly ServerBlock[];
}

export interface ServerBlock {
  readonly zones: readonly ZoneAddress[];
  readonly directives: readonly Directive[];
}

/** `.` is all names; any other has no final dot. */
export interface ZoneAddress {
  readonly zone: string;
  readonly port: number;
}

export interface Directive {
  readonly name: string;
  readonly args: readonly string[];
  /** What stands in braces behind it, one for each line. */
  readonly body: readonly Directive[];
  readonly line: number;
}

/** What a person has to change in a Corefile. */
export class CorefileError extends Error {
  override readonly name = "CorefileError";

  constructor(line: number, problem: string) {
    super(`Corefile:${line} - Error during parsing: ${problem}`);
  }
}

export interface CorefileOptions {
  /** The port of zones that name none. */
  readonly port?: number;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

interface Token {
  readonly text: string;
  readonly line: number;
  /** Whether it was in quotation marks: then a brace is none. */
  readonly isQuoted: boolean;
}

const mostDepth = 8;
const mostTokens = 100_000;

/** Throws CorefileError. */
export function parseCorefile(text: string, { port = 53, env = {} }: CorefileOptions = {}): Corefile {
  const tokens = tokensOf(text, env);
  const snippets = new Map<string, readonly Directive[]>();
  const blocks: ServerBlock[] = [];
  const reader = new TokenReader(tokens);
  while (!reader.isAtEnd) {
    const keys = reader.keys();
    const directives = reader.body(0).flatMap((one) => included(one, snippets));
    const snippet = /^\((.+)\)$/.exec(keys[0]?.text ?? "")?.[1];
    if (snippet !== undefined) snippets.set(snippet, directives);
    else blocks.push({ zones: keys.flatMap((key) => zonesOf(key, port)), directives });
  }
  if (blocks.length === 0) throw new CorefileError(1, "there is no server block");
  const seen = new Set<string>();
  for (const { zones } of blocks)
    for (const { zone, port: at } of zones) {
      const key = `${zone}:${at}`;
      if (seen.has(key)) throw new CorefileError(1, `cannot serve dns://${key} - it is already defined`);
      seen.add(key);
    }
  return { blocks };
}

function included(directive: Directive, snippets: ReadonlyMap<string, readonly Directive[]>): readonly Directive[] {
  if (directive.name !== "import") return [directive];
  const [name = ""] = directive.args;
  const snippet = snippets.get(name);
  if (!snippet) throw new CorefileError(directive.line, `there is no snippet ${JSON.stringify(name)} to import`);
  return snippet;
}

function tokensOf(text: string, env: NonNullable<CorefileOptions["env"]>): readonly Token[] {
  const tokens: Token[] = [];
  const form = /"((?:[^"\\]|\\[\s\S])*)"|#[^\n]*|\n|[^\s"#][^\s]*|[^\S\n]+|"/g;
  let line = 1;
  for (const [whole, quoted] of text.matchAll(form)) {
    if (quoted !== undefined) tokens.push({ text: quoted.replaceAll('\\"', '"'), line, isQuoted: true });
    else if (whole === '"') throw new CorefileError(line, "a quotation mark has no end");
    else if (whole.trim() !== "" && !whole.startsWith("#"))
      tokens.push({ text: withEnvironment(whole, env), line, isQuoted: false });
    line += whole.split("\n").length - 1;
    if (tokens.length > mostTokens) throw new CorefileError(line, `more than ${mostTokens} words`);
  }
  return tokens;
}

const withEnvironment = (text: string, env: NonNullable<CorefileOptions["env"]>): string =>
  text.replaceAll(/\{\$(\w+)\}|\{%(\w+)%\}/g, (_, unix: string | undefined, dos: string | undefined) => {
    return env[unix ?? dos ?? ""] ?? "";
  });

class TokenReader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  /** The zones of a block, up to its opening brace. */
  keys(): readonly Token[] {
    const keys: Token[] = [];
    for (;;) {
      const token = this.#tokens[this.#at++];
      if (!token) throw new CorefileError(keys.at(-1)?.line ?? 1, "a server block has no opening brace");
      if (token.text === "{" && !token.isQuoted) break;
      if (token.text === "}" && !token.isQuoted) throw new CorefileError(token.line, "a brace closes nothing");
      keys.push(...token.text.split(",").flatMap((text) => (text === "" ? [] : { ...token, text })));
    }
    if (keys.length === 0) throw new CorefileError(this.#tokens[this.#at - 1]?.line ?? 1, "a server block has no zone");
    return keys;
  }

  /** Directives up to the closing brace, one for each line. */
  body(depth: number): readonly Directive[] {
    const directives: Directive[] = [];
    for (;;) {
      const first = this.#tokens[this.#at++];
      const end = this.#tokens.at(-1)?.line ?? 1;
      if (!first) throw new CorefileError(end, "a block has no closing brace");
      if (depth > mostDepth) throw new CorefileError(first.line, "blocks are nested too deeply");
      if (first.text === "}" && !first.isQuoted) return directives;
      if (first.text === "{" && !first.isQuoted) throw new CorefileError(first.line, "a brace opens nothing");
      const args: string[] = [];
      let body: readonly Directive[] = [];
      for (let next = this.#tokens[this.#at]; next?.line === first.line; next = this.#tokens[this.#at]) {
        if (next.text === "}" && !next.isQuoted) break;
        this.#at++;
        if (next.text === "{" && !next.isQuoted) {
          body = this.body(depth + 1);
          break;
        }
        args.push(next.text);
      }
      directives.push({ name: first.text, args, body, line: first.line });
    }
  }
}

/** `.:53`, `dns://cluster.local`, `10.0.0.0/16`. */
function zonesOf({ text, line }: Token, usualPort: number): readonly ZoneAddress[] {
  const [, scheme, rest = text] = /^([a-z]+):\/\/(.*)$/.exec(text) ?? [];
  if (scheme !== undefined && scheme !== "dns")
    throw new CorefileError(line, `${JSON.stringify(text)}: only dns:// is served, over UDP and TCP`);
  const [, name = rest, portText] = /^(.*):(\d+)$/.exec(rest) ?? [];
  const port = portText === undefined ? usualPort : Number(portText);
  if (port < 1 || port > 65_535) throw new CorefileError(line, `${JSON.stringify(text)}: ${port} is no port`);
  return zonesIn(name, line).map((zone) => ({ zone, port }));
}

/** The zone of a name, or the reverse zones of an IPv4 network of whole bytes. */
export function zonesIn(text: string, line: number): readonly string[] {
  const network = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(8|16|24)$/.exec(text);
  if (network) {
    const bytes = Number(network[5]) / 8;
    return [
      `${network
        .slice(1, 1 + bytes)
        .reverse()
        .join(".")}.in-addr.arpa`,
    ];
  }
  const zone = text.toLowerCase().replace(/(?<=.)\.$/, "") || ".";
  const isName = zone === "." || (zone.length <= 253 && zone.split(".").every((label) => /^[\w*-]{1,63}$/.test(label)));
  if (!isName) throw new CorefileError(line, `${JSON.stringify(text)} is no zone`);
  return [zone];
}

/** Whether a name in lower case is in a zone. */
export const isInZone = (name: string, zone: string): boolean =>
  zone === "." || name === zone || name.endsWith(`.${zone}`);

/** The longest of these zones that has the name. */
export const zoneOf = (name: string, zones: readonly string[]): string | undefined =>
  zones.filter((zone) => isInZone(name, zone)).toSorted((a, b) => b.length - a.length)[0];

/** `5s`, `1m30s`; a mere number is seconds. Throws CorefileError. */
export function durationMs(text: string, line: number): number {
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.map(([whole]) => whole).join("") !== text || parts.length === 0)
    throw new CorefileError(line, `${JSON.stringify(text)} is no duration`);
  return parts.reduce((sum, [, amount = "0", unit = "s"]) => sum + Number(amount) * (units[unit] ?? 0), 0);
}
