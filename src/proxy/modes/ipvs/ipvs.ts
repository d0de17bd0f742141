// Services as virtual servers of the kernel's ip_vs. The node has the addresses of all services on a device that leads nowhere, so that
// packets for them come up to where ip_vs takes them; a few iptables rules replace senders and refuse those who may not use a balancer.
// Upstream: pkg/proxy/ipvs/proxier.go.
import type { FrontendFamily } from "../../frontends.ts";
import type { FrontendChange, ProxyMode, ProxyModeOptions } from "../../proxy-mode.ts";
import { allPrograms, findProgram } from "../iptables/programs.ts";
import { canary, cleanupText, rewriteTexts } from "../iptables/rule-set.ts";
import { contains, network } from "../iptables/rule-text.ts";
import { type IpvsChainSettings, ipvsChains, ipvsJumps } from "./chains.ts";
import { createLines, readSets, setNamesOf } from "./ip-sets.ts";
import { IpvsNode } from "./ipvs-node.ts";
import { type IpvsSteps, IpvsTable } from "./ipvs-table.ts";
import { addressOf } from "./kernel-servers.ts";
import type { PartsSettings } from "./service-parts.ts";

const bothFamilies = ["IPv4", "IPv6"] as const;
const isOf = (address: string, family: FrontendFamily): boolean => address.includes(":") === (family === "IPv6");

export function ipvs(options: ProxyModeOptions): ProxyMode {
  const services = new VirtualServices(options);
  return {
    name: "ipvs",
    check: (signal) => services.node.check(signal),
    rewrite: (changes, signal) => services.rewrite(changes, signal),
    change: (changes, signal) => services.change(changes, signal),
    tidy: (signal) => services.reap(signal),
    isIntact: (signal) => services.isIntact(signal),
    cleanup: (signal) => services.cleanup(signal),
  };
}

class VirtualServices {
  readonly node: IpvsNode;
  readonly #options: ProxyModeOptions;
  readonly #tables: ReadonlyMap<FrontendFamily, IpvsTable>;
  /** Addresses that the node had by itself when all was written last. */
  #nodeAddresses: readonly string[] = [];

  constructor(options: ProxyModeOptions) {
    this.#options = options;
    this.node = new IpvsNode(options.run, options.ipvs ?? {});
    this.#tables = new Map(options.families.map((family) => [family, new IpvsTable(this.#partsSettings(family))]));
  }

  async rewrite(changes: readonly FrontendChange[], signal: AbortSignal): Promise<void> {
    for (const [family, table] of this.#tables) table.change(changesOf(changes, family));
    await this.node.check(signal);
    await this.node.prepare(signal);
    const present = await this.node.addresses(signal);
    if (!present.hasDevice) await this.node.addDevice(signal);
    this.#nodeAddresses = present.others;
    const sets = readSets(await this.node.savedSets(signal));
    const servers = await this.node.servers(signal);
    for (const [family, table] of this.#tables) {
      table.moveTo(this.#partsSettings(family));
      const names = new Set(setNamesOf(family));
      const own = [...sets].filter(([name]) => names.has(name));
      const steps = table.rewrite({
        addresses: new Set(present.own.filter((address) => isOf(address, family))),
        entries: new Set(own.flatMap(([name, entries]) => [...entries].map((entry) => `${name} ${entry}`))),
        servers: new Map([...servers].filter(([key]) => isOf(addressOf(key), family) && !this.#isExcluded(key))),
      });
      const made = createLines(family, new Set(own.map(([name]) => name)));
      await this.node.changeSets(`${made.map((line) => `${line}\n`).join("")}${steps.sets}`, signal);
      await this.#writeChains(family, signal);
      await this.node.apply({ ...steps, sets: "" }, signal);
    }
  }

  async change(changes: readonly FrontendChange[], signal: AbortSignal): Promise<void> {
    // All are taken over before anything may fail.
    const steps: readonly IpvsSteps[] = [...this.#tables].map(([family, table]) =>
      table.change(changesOf(changes, family)),
    );
    for (const step of steps) await this.node.apply(step, signal);
  }

  /** Removes destinations whose last connection has ended. */
  async reap(signal: AbortSignal): Promise<void> {
    const draining = [...this.#tables.values()].filter((table) => table.draining.size > 0);
    if (draining.length === 0) return;
    const busy = await this.node.busyDestinations(signal);
    await this.node.changeServers(draining.map((table) => table.reap(busy)).join(""), signal);
  }

  /** Whether nobody has removed the device or the rules, and the node still has the same addresses. */
  async isIntact(signal: AbortSignal): Promise<boolean> {
    const { hasDevice, others } = await this.node.addresses(signal);
    if (!hasDevice || others.join() !== this.#nodeAddresses.join()) return false;
    for (const family of this.#tables.keys()) {
      const program = await findProgram(this.#options.run, family, signal);
      if (!(await program.hasChain("nat", canary, signal))) return false;
    }
    return true;
  }

  /** The device says whether this mode was ever here: rules of other modes have the same names. */
  async cleanup(signal: AbortSignal): Promise<void> {
    const { hasDevice } = await this.node.addresses(signal);
    if (!hasDevice) return;
    for (const family of bothFamilies)
      for (const program of await allPrograms(this.#options.run, family, signal))
        await program.restore(cleanupText(await program.save(signal)), signal);
    await this.node.removeAll(bothFamilies.flatMap(setNamesOf), (key) => this.#isExcluded(key), signal);
  }

  async #writeChains(family: FrontendFamily, signal: AbortSignal): Promise<void> {
    const program = await findProgram(this.#options.run, family, signal);
    const chains = ipvsChains(this.#chainSettings(family));
    for (const text of rewriteTexts(chains, await program.save(signal), ipvsJumps)) await program.restore(text, signal);
  }

  #chainSettings(family: FrontendFamily): IpvsChainSettings {
    const { podRanges, masqueradeAll = false, markBit = 0x4000 } = this.#options;
    const [range] = podRanges.filter((one) => isOf(one, family));
    return {
      family,
      podRange: range === undefined ? undefined : network(range),
      masqueradesAll: masqueradeAll,
      markBit,
    };
  }

  #partsSettings(family: FrontendFamily): PartsSettings {
    const { ipvs: { scheduler = "rr" } = {}, nodePortRanges = [] } = this.#options;
    const nodeAddresses = this.#nodeAddresses.filter((address) => isOf(address, family));
    const hasNodePorts = (address: string) =>
      nodePortRanges.length === 0 || nodePortRanges.some((range) => contains(range, address));
    return { family, scheduler, nodeAddresses, nodePortAddresses: nodeAddresses.filter(hasNodePorts) };
  }

  #isExcluded(server: string): boolean {
    const { excludeRanges = [] } = this.#options.ipvs ?? {};
    return excludeRanges.some((range) => contains(range, addressOf(server)));
  }
}

const changesOf = (changes: readonly FrontendChange[], family: FrontendFamily) =>
  new Map(
    changes.filter((change) => change.family === family).map(({ service, frontends }) => [service, frontends] as const),
  );
