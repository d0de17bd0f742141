// What the kernel would make of a table, for tests without one: reads the commands of a whole table, and follows a connection through them.
// It knows the few words of nft that our rules are made of, and refuses all others.
import assert from "node:assert/strict";
import { parseIp } from "#schema/ip.ts";
import type { Connection } from "./model.ts";

interface ParsedTable {
  readonly sets: ReadonlyMap<string, readonly string[]>;
  readonly chains: ReadonlyMap<string, readonly string[]>;
}

export function parseTable(script: string): ParsedTable {
  const sets = new Map<string, string[]>();
  const chains = new Map<string, string[]>();
  for (const line of script.split("\n")) {
    const [, what, name = "", rest = ""] =
      /^add (set|chain|rule|element) inet knarr-policy (\S+) ?(.*)$/.exec(line) ?? [];
    if (what === "set") sets.set(name, []);
    else if (what === "chain") chains.set(name, []);
    else if (what === "rule") {
      assert.ok(chains.has(name), `a rule of chain ${name} before the chain`);
      chains.get(name)?.push(rest);
    } else if (what === "element") {
      const elements = rest.slice(2, -2).split(", ");
      sets.set(name, [...(sets.get(name) ?? []), ...elements]);
    }
  }
  return { sets, chains };
}

/** Whether packets of the connection pass: what a policy limits has to, in both directions. */
export function passes(table: ParsedTable, connection: Connection): boolean {
  const family = connection.from.includes(":") ? 6 : 4;
  if (table.sets.get(`self${family}`)?.includes(`${connection.from} . ${connection.to}`)) return true;
  const verdict = (map: string, address: string): boolean => {
    const element = table.sets.get(map)?.find((one) => one.startsWith(`${address} : `));
    return element === undefined || judge(table, element.split(" : goto ")[1] ?? "", connection) === "accept";
  };
  return verdict(`egress${family}`, connection.from) && verdict(`ingress${family}`, connection.to);
}

function judge(table: ParsedTable, chain: string, connection: Connection): "accept" | "drop" | undefined {
  const rules = table.chains.get(chain);
  assert.ok(rules, `no chain ${chain}`);
  for (const rule of rules) {
    const jump = /^jump (\S+) comment "[^"]*"$/.exec(rule)?.[1];
    const verdict = jump === undefined ? judgeRule(table, rule, connection) : judge(table, jump, connection);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

function judgeRule(table: ParsedTable, rule: string, connection: Connection): "accept" | "drop" | undefined {
  let rest = rule;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    const match = pattern.exec(rest);
    if (match) rest = rest.slice(match[0].length);
    return match ?? undefined;
  };
  while (rest !== "accept" && rest !== "drop") {
    const l4 = take(/^meta l4proto (\S+) /);
    const nfproto = take(/^meta nfproto ipv(\d) /);
    const named = take(/^ct reply ip6? saddr \. ct reply proto-src @(\S+) /);
    const address = take(/^ct (original|reply) (ip6?) saddr (\S+) /);
    const port = take(/^ct reply proto-src (\S+) /);
    if (!l4 && !nfproto && !named && !address && !port) assert.fail(`unknown words: ${rule}`);
    if (l4 && l4[1] !== connection.protocol.toLowerCase()) return undefined;
    if (nfproto && nfproto[1] !== (connection.from.includes(":") ? "6" : "4")) return undefined;
    if (named && !elementsOf(table, named[1]).includes(`${connection.to} . ${connection.port}`)) return undefined;
    if (address) {
      const of = address[1] === "original" ? connection.from : connection.to;
      if ((address[2] === "ip6") !== of.includes(":") || !isAmong(table, address[3] ?? "", of)) return undefined;
    }
    if (port && !isAmong(table, port[1] ?? "", String(connection.port))) return undefined;
  }
  return rest;
}

function elementsOf({ sets }: ParsedTable, name = ""): readonly string[] {
  const elements = sets.get(name);
  assert.ok(elements, `no set ${name}`);
  return elements;
}

/** `text` is a set, a range or a value. */
function isAmong(table: ParsedTable, text: string, value: string): boolean {
  const ranges = text.startsWith("@") ? elementsOf(table, text.slice(1)) : [text];
  return ranges.some((range) => {
    const [first = 0n, last = first] = range.split("-").map(numberOf);
    return first <= numberOf(value) && numberOf(value) <= last;
  });
}

function numberOf(text: string): bigint {
  const ip = parseIp(text);
  return ip ? ip.value : BigInt(text);
}
