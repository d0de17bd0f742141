// The rules of one address family, kept up as services change: only what a change concerns is computed and written anew.
// Upstream: pkg/proxy/iptables/proxier.go.
import type { Frontend } from "../../frontends.ts";
import { RestoreText } from "./restore-text.ts";
import { allChains, type Chains, type RuleSetSettings, sharedRules } from "./rule-set.ts";
import {
  type Delivery,
  type ServiceChainSettings,
  type ServiceChains,
  type SharedChain,
  serviceChains,
} from "./service-chains.ts";

export interface FamilyRulesSettings extends RuleSetSettings, Omit<ServiceChainSettings, "deliver"> {
  /** How traffic gets to targets, in a cluster that has many endpoints or not. */
  readonly deliver: (isLarge: boolean) => Delivery;
}

/** With more endpoints than this, rules are to be short rather than readable. */
export const largeClusterEndpoints = 1_000;

const none: ServiceChains = { own: new Map(), shared: new Map(), endpoints: 0 };

export class FamilyRules {
  readonly #settings: FamilyRulesSettings;
  readonly #frontends = new Map<string, readonly Frontend[]>();
  readonly #services = new Map<string, ServiceChains>();
  #endpoints = 0;
  #isLarge = false;

  constructor(settings: FamilyRulesSettings) {
    this.#settings = settings;
  }

  /** All chains as they should be by now. */
  get chains(): Chains {
    return allChains(this.#services, this.#settings);
  }

  get endpoints(): number {
    return this.#endpoints;
  }

  /** Takes over what services have now, and returns the text that changes the kernel accordingly; empty if it need not change. */
  change(services: ReadonlyMap<string, readonly Frontend[]>): string {
    for (const [service, frontends] of services)
      if (frontends.length === 0) this.#frontends.delete(service);
      else this.#frontends.set(service, frontends);
    const before = this.#replace(services.keys());
    const isLarge = this.#endpoints > largeClusterEndpoints;
    if (isLarge !== this.#isLarge) {
      this.#isLarge = isLarge;
      for (const [service, chains] of this.#replace([...this.#services.keys()]))
        if (!before.has(service)) before.set(service, chains);
    }
    return this.#difference(before);
  }

  /** Computes the rules of services, and returns those that they had. */
  #replace(services: Iterable<string>): Map<string, ServiceChains> {
    const deliver = this.#settings.deliver(this.#isLarge);
    const before = new Map<string, ServiceChains>();
    for (const service of services) {
      const last = this.#services.get(service) ?? none;
      const frontends = this.#frontends.get(service);
      const next = frontends ? serviceChains(service, frontends, { ...this.#settings, deliver }) : none;
      before.set(service, last);
      this.#endpoints += next.endpoints - last.endpoints;
      if (frontends) this.#services.set(service, next);
      else this.#services.delete(service);
    }
    return before;
  }

  #difference(services: ReadonlyMap<string, ServiceChains>): string {
    const out = new RestoreText();
    const shared = new Map<SharedChain, ChainEdits>();
    for (const [service, last] of services) {
      const next = this.#services.get(service) ?? none;
      for (const [name, rules] of next.own) if (!isSame(last.own.get(name), rules)) out.replace(`nat ${name}`, rules);
      for (const name of last.own.keys()) if (!next.own.has(name)) out.remove(`nat ${name}`);
      for (const chain of new Set([...last.shared.keys(), ...next.shared.keys()]))
        editsOf(shared, chain).note(last.shared.get(chain) ?? [], next.shared.get(chain) ?? []);
    }
    for (const [chain, { added, removed }] of shared) {
      if (added.length + removed.length === 0) continue;
      const rules = sharedRules(chain, this.#services, this.#settings);
      if (rules.length < longChain || added.length + removed.length > mostEdits) out.replace(chain, rules);
      else {
        for (const line of removed) out.delete(chain, line);
        for (const line of added) out.insert(chain, line);
      }
    }
    return out.text;
  }
}

/** A chain of so many rules is edited: to write 10,000 rules takes 1.7 s, to delete one of them 0.2 s, to insert one 20 ms. */
export const longChain = 50;
const mostEdits = 8;

class ChainEdits {
  readonly added: string[] = [];
  readonly removed: string[] = [];

  note(before: readonly string[], after: readonly string[]): void {
    this.removed.push(...before.filter((line) => !after.includes(line)));
    this.added.push(...after.filter((line) => !before.includes(line)));
  }
}

function editsOf(edits: Map<SharedChain, ChainEdits>, chain: SharedChain): ChainEdits {
  const present = edits.get(chain) ?? new ChainEdits();
  edits.set(chain, present);
  return present;
}

const isSame = (before: readonly string[] | undefined, after: readonly string[]): boolean =>
  before?.length === after.length && before.every((line, i) => line === after[i]);
