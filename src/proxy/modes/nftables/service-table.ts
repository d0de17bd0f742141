// Remembers what the kernel's table holds for each service, and makes the commands that bring it from one state to the next.
// Two services may claim the same address and port: the first has it, and the next gets it when the first gives it up.
import type { FrontendFamily } from "../../frontends.ts";
import { type NftSettings, type ServiceRules, sizeRules, skeleton, tableOf } from "./rules.ts";

interface Claim {
  readonly service: string;
  readonly value: string;
}

const nothing: ServiceRules = { elements: new Map(), sets: new Map(), chains: new Map(), sizes: new Set() };
/** So many elements are named in one command: longer lines make nft slow. */
const perCommand = 1_000;

export class ServiceTable {
  readonly #family: FrontendFamily;
  readonly #settings: NftSettings;
  readonly #services = new Map<string, ServiceRules>();
  /** Set and element → the services that claim it; the first of them has it. */
  readonly #claims = new Map<string, Claim[]>();
  readonly #sizes = new Set<number>();

  constructor(family: FrontendFamily, settings: NftSettings) {
    this.#family = family;
    this.#settings = settings;
  }

  /** The commands for a change of some services; undefined removes one. They must be done all together, or `rewrite` called. */
  change(services: ReadonlyMap<string, ServiceRules | undefined>): string {
    const script = new Script(tableOf(this.#family, this.#settings));
    for (const [id, next = nothing] of services) this.#replace(id, next, script);
    return script.text;
  }

  /** The commands that make the whole table anew, whatever is there. */
  rewrite(): string {
    const script = new Script(tableOf(this.#family, this.#settings));
    for (const size of this.#sizes) script.prepare(sizeRules(this.#family, this.#settings, size));
    for (const { sets, chains } of this.#services.values()) script.own(nothing, { ...nothing, sets, chains });
    for (const [element, [claim]] of this.#claims) if (claim) script.add(element, claim.value);
    return `${skeleton(this.#family, this.#settings)}${script.text}`;
  }

  #replace(id: string, next: ServiceRules, script: Script): void {
    const last = this.#services.get(id) ?? nothing;
    for (const size of next.sizes)
      if (!this.#sizes.has(size)) {
        this.#sizes.add(size);
        script.prepare(sizeRules(this.#family, this.#settings, size));
      }
    script.own(last, next);
    for (const [set, elements] of last.elements)
      for (const key of elements.keys())
        if (!next.elements.get(set)?.has(key)) this.#release(`${set}\n${key}`, id, script);
    for (const [set, elements] of next.elements)
      for (const [key, value] of elements) this.#claim(`${set}\n${key}`, { service: id, value }, script);
    if (next === nothing) this.#services.delete(id);
    else this.#services.set(id, next);
  }

  #claim(element: string, claim: Claim, script: Script): void {
    const claims = this.#claims.get(element);
    if (!claims) {
      this.#claims.set(element, [claim]);
      script.add(element, claim.value);
      return;
    }
    const index = claims.findIndex(({ service }) => service === claim.service);
    if (index < 0) return void claims.push(claim);
    if (index === 0 && claims[0]?.value !== claim.value) {
      script.remove(element);
      script.add(element, claim.value);
    }
    claims[index] = claim;
  }

  #release(element: string, service: string, script: Script): void {
    const claims = this.#claims.get(element) ?? [];
    const own = claims.findIndex((claim) => claim.service === service);
    claims.splice(own, 1);
    if (own > 0) return;
    const [next] = claims;
    if (!next) this.#claims.delete(element);
    // An element of a set has no value: it stays as it is for the next service.
    if (next?.value === "") return;
    script.remove(element);
    if (next) script.add(element, next.value);
  }
}

/** Commands in an order in which nothing is named before it is there, or removed while it is named. */
class Script {
  readonly #table: string;
  readonly #first: string[] = [];
  readonly #removed = new Map<string, string[]>();
  readonly #added = new Map<string, string[]>();
  readonly #last: string[] = [];

  constructor(table: string) {
    this.#table = table;
  }

  prepare(lines: readonly string[]): void {
    this.#first.push(...lines);
  }

  add(element: string, value: string): void {
    const [set = "", key = ""] = element.split("\n");
    enter(this.#added, set, value === "" ? key : `${key} : ${value}`);
  }

  remove(element: string): void {
    const [set = "", key = ""] = element.split("\n");
    enter(this.#removed, set, key);
  }

  /** The sets and chains of one service. */
  own(last: ServiceRules, next: ServiceRules): void {
    const table = this.#table;
    for (const [name, spec] of next.sets)
      if (!last.sets.has(name)) this.#first.push(`add set ${table} ${name} { ${spec} }`);
    for (const name of next.chains.keys()) if (!last.chains.has(name)) this.#first.push(`add chain ${table} ${name}`);
    for (const [name, rules] of next.chains) {
      if (last.chains.get(name)?.join("\n") === rules.join("\n")) continue;
      if (last.chains.has(name)) this.#first.push(`flush chain ${table} ${name}`);
      for (const rule of rules) this.#first.push(`add rule ${table} ${name} ${rule}`);
    }
    // Chains name each other and sets: all are emptied before any is removed.
    const gone = [...last.chains.keys()].filter((name) => !next.chains.has(name));
    for (const name of gone) this.#last.unshift(`flush chain ${table} ${name}`);
    for (const name of gone) this.#last.push(`delete chain ${table} ${name}`);
    for (const name of last.sets.keys()) if (!next.sets.has(name)) this.#last.push(`delete set ${table} ${name}`);
  }

  get text(): string {
    const commands = [
      ...this.#first,
      ...this.#elements("delete", this.#removed),
      ...this.#elements("add", this.#added),
      ...this.#last,
    ];
    return commands.length === 0 ? "" : `${commands.join("\n")}\n`;
  }

  #elements(verb: "add" | "delete", sets: ReadonlyMap<string, readonly string[]>): readonly string[] {
    return [...sets].flatMap(([set, elements]) => {
      const lines: string[] = [];
      for (let from = 0; from < elements.length; from += perCommand)
        lines.push(`${verb} element ${this.#table} ${set} { ${elements.slice(from, from + perCommand).join(", ")} }`);
      return lines;
    });
  }
}

function enter(map: Map<string, string[]>, key: string, value: string): void {
  const present = map.get(key);
  if (present) present.push(value);
  else map.set(key, [value]);
}
