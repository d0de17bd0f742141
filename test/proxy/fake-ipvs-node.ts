// A node whose programs are this process: it reads what ipvsadm, ipset, iptables-restore and ip read, refuses what they refuse, and has what
// they would have made. For kernels without ip_vs.

import { type Chains, readSaved } from "#proxy/modes/iptables/rule-set.ts";
import { readSets } from "#proxy/modes/ipvs/ip-sets.ts";
import type { RunOnNode } from "#proxy/proxy-mode.ts";

type Program = (args: readonly string[], input: string) => string;

export class FakeIpvsNode {
  readonly addresses = new Set<string>();
  readonly sets = new Map<string, Set<string>>();
  readonly servers = new Map<string, { options: string; destinations: Map<string, string> }>();
  readonly rules = { iptables: new Map<string, string[]>(), ip6tables: new Map<string, string[]>() };
  /** Servers and destinations that have connections. */
  readonly busy = new Set<string>();
  hasDevice = false;
  nodeAddresses: readonly string[] = ["192.168.0.2"];

  readonly run: RunOnNode = async ([program = "", ...args], { input = "" }) => {
    const [, table, act] = /^(ip6?tables)-(save|restore)$/.exec(program) ?? [];
    if (table === "iptables" || table === "ip6tables") {
      if (act === "save") return this.#saved(table);
      this.#restore(this.rules[table], input);
      return "";
    }
    const known = this.#programs[program];
    if (!known) throw new Error(`there is no ${program}`);
    return known(args, input);
  };

  readonly #programs: Readonly<Record<string, Program>> = {
    sh: (args, input) => (args[2] === "ipvsadm" ? this.#ipvsadm(args.slice(3), input) : ""),
    ipvsadm: (args, input) => this.#ipvsadm(args, input),
    ipset: (args, input) => this.#ipset(args, input),
    ip: (args, input) => this.#ip(args, input),
    tee: () => "",
    iptables: (args) => this.#chain("iptables", args),
    ip6tables: (args) => this.#chain("ip6tables", args),
  };

  #ipvsadm(args: readonly string[], input: string): string {
    if (args[0] === "--save") {
      const lines = [...this.servers].flatMap(([server, { options, destinations }]) => [
        `-A ${server} ${options}`,
        ...[...destinations].map(([destination, rest]) => `-a ${server} -r ${destination} ${rest}`),
      ]);
      return lines.join("\n");
    }
    if (args[0] === "--list") {
      const words: Record<string, string> = { "-t": "TCP ", "-u": "UDP ", "--sctp-service": "SCTP" };
      const lines = [...this.servers].flatMap(([server, { destinations }]) => [
        `${words[server.split(" ")[0] ?? ""]} ${server.split(" ")[1]} rr`,
        ...[...destinations.keys()].map((to) => `  -> ${to}  Masq 1 ${this.busy.has(`${server} ${to}`) ? 1 : 0} 0`),
      ]);
      return lines.join("\n");
    }
    return linesOf(input)
      .map((line) => this.#serve(line))
      .filter((problem) => problem !== "")
      .join("\n");
  }

  #serve(line: string): string {
    const [, verb = "", key = "", destination, rest = ""] =
      /^(-[AEDaed]) (\S+ \S+)(?: -r (\S+))? ?(.*)$/.exec(line) ?? [];
    const server = this.servers.get(key);
    if (verb === "-A") {
      if (server) return "Service already exists";
      this.servers.set(key, { options: rest, destinations: new Map() });
    } else if (!server) return "Service not defined";
    else if (verb === "-E") server.options = rest;
    else if (verb === "-D") this.servers.delete(key);
    else if (destination !== undefined) {
      if (verb === "-a" && server.destinations.has(destination)) return "Destination already exists";
      if (verb !== "-a" && !server.destinations.has(destination)) return "No such destination";
      if (verb === "-d") server.destinations.delete(destination);
      else server.destinations.set(destination, rest);
    }
    return "";
  }

  #ipset(args: readonly string[], input: string): string {
    if (args[0] === "list") return [...this.sets.keys()].join("\n");
    if (args[0] === "save")
      return [...this.sets]
        .flatMap(([set, entries]) => [`create ${set} x`, ...[...entries].map((entry) => `add ${set} ${entry}`)])
        .join("\n");
    for (const [set] of readSets(linesOf(input).join("\n"))) if (!this.sets.has(set)) this.sets.set(set, new Set());
    for (const line of linesOf(input)) {
      const [verb, set = "", entry = ""] = line.split(" ");
      if (!this.sets.has(set)) throw new Error(`ipset: there is no ${set}: ${line}`);
      if (verb === "add") this.sets.get(set)?.add(entry);
      if (verb === "del") this.sets.get(set)?.delete(entry);
      if (verb === "destroy") {
        const isUsed = Object.values(this.rules).some((chains) =>
          [...chains.values()].some((rules) => rules.some((rule) => rule.includes(` ${set} `))),
        );
        if (isUsed) throw new Error(`ipset: ${set} is in use`);
        this.sets.delete(set);
      }
    }
    return "";
  }

  #ip(args: readonly string[], input: string): string {
    if (args.includes("-json")) {
      const info = (addresses: Iterable<string>) => [...addresses].map((local) => ({ local, scope: "global" }));
      const device = { ifname: "kube-ipvs0", addr_info: info(this.addresses) };
      return JSON.stringify([
        { ifname: "lo", addr_info: [{ local: "127.0.0.1", scope: "host" }] },
        { ifname: "eth0", addr_info: info(this.nodeAddresses) },
        ...(this.hasDevice ? [device] : []),
      ]);
    }
    if (args[0] === "link") this.hasDevice = args[1] === "add";
    if (!this.hasDevice) this.addresses.clear();
    for (const line of linesOf(input)) {
      const [, verb, range = ""] = line.split(" ");
      const [address = ""] = range.split("/");
      if (this.addresses.has(address) === (verb === "add")) throw new Error(`ip: ${line}`);
      if (verb === "add") this.addresses.add(address);
      else this.addresses.delete(address);
    }
    return "";
  }

  #chain(table: "iptables" | "ip6tables", args: readonly string[]): string {
    const [from, name] = [args[args.indexOf("-t") + 1], args[args.indexOf("-S") + 1]];
    if (args.includes("-S") && !this.rules[table].has(`${from} ${name}`)) throw new Error("no such chain");
    return "v1.8.9 (nf_tables)";
  }

  #restore(chains: Map<string, string[]>, text: string): void {
    for (const [chain] of readSaved(text)) chains.set(chain, []);
    let table = "";
    for (const line of linesOf(text)) {
      const [verb = "", name = ""] = line.split(" ", 2);
      const [key, rule] = [`${table} ${name}`, line.slice(verb.length + name.length + 2)];
      const set = /--match-set (\S+)/.exec(line)?.[1];
      if (set !== undefined && !this.sets.has(set)) throw new Error(`iptables-restore: there is no set ${set}`);
      const rules = chains.get(key) ?? [];
      if (verb.startsWith("*")) table = verb.slice(1);
      else if (verb === "-A") chains.set(key, [...rules, rule]);
      else if (verb === "-I") chains.set(key, [rule, ...rules]);
      else if (verb === "-D") {
        if (!rules.includes(rule)) throw new Error(`iptables-restore: no such rule: ${line}`);
        rules.splice(rules.indexOf(rule), 1);
      } else if (verb === "-X") chains.delete(key);
    }
  }

  #saved(of: "iptables" | "ip6tables"): string {
    const chains: Chains = this.rules[of];
    return ["nat", "filter", "mangle"]
      .flatMap((table) => {
        const own = [...chains].filter(([chain]) => chain.startsWith(`${table} `));
        const named = own.map(([chain, rules]) => [chain.slice(table.length + 1), rules] as const);
        return [
          `*${table}`,
          ...named.map(([chain]) => `:${chain} - [0:0]`),
          ...named.flatMap(([chain, rules]) => rules.map((rule) => `-A ${chain} ${rule}`)),
          "COMMIT",
        ];
      })
      .join("\n");
  }
}

const linesOf = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");
