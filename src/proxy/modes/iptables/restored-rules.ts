// Rules in the kernel, by iptables-save and iptables-restore: for each address family one text, which takes effect as a whole.
// Upstream: pkg/proxy/iptables/proxier.go, pkg/proxy/iptables/cleanup.go.
import { UsageError } from "#base/errors.ts";
import type { Frontend, FrontendFamily } from "../../frontends.ts";
import type { FrontendChange, ProxyModeOptions } from "../../proxy-mode.ts";
import { FamilyRules } from "./family-rules.ts";
import { allPrograms, findProgram, type IptablesProgram } from "./programs.ts";
import { canary, cleanupText, rewriteTexts } from "./rule-set.ts";
import { network } from "./rule-text.ts";
import type { Delivery } from "./service-chains.ts";

export interface RestoredRulesSettings {
  readonly deliver: (family: FrontendFamily) => (isLarge: boolean) => Delivery;
  readonly masquerades: boolean;
}

const routeLocalnet = "/proc/sys/net/ipv4/conf/all/route_localnet";

export class RestoredRules {
  readonly #options: ProxyModeOptions;
  readonly #families: ReadonlyMap<FrontendFamily, FamilyRules>;
  readonly #programs = new Map<FrontendFamily, IptablesProgram>();

  constructor(options: ProxyModeOptions, { deliver, masquerades }: RestoredRulesSettings) {
    const { podRanges, masqueradeAll = false, markBit = 0x4000, nodeAddresses = [] } = options;
    const { localhostNodePorts = false, nodePortRanges = [] } = options;
    this.#options = options;
    this.#families = new Map(
      options.families.map((family) => {
        const isOf = (range: string) => range.includes(":") === (family === "IPv6");
        const [podRange, ...others] = podRanges.filter(isOf);
        if (others.length > 0)
          throw new UsageError(`iptables rules know one network of pods for each family, not ${podRanges.join(", ")}`);
        const rules = new FamilyRules({
          family,
          podRange: podRange === undefined ? undefined : network(podRange),
          masquerades,
          masqueradesAll: masqueradeAll,
          markBit,
          nodeAddresses,
          localhostNodePorts,
          nodePortRanges: nodePortRanges.filter(isOf).map((range) => network(range) ?? range),
          deliver: deliver(family),
        });
        return [family, rules] as const;
      }),
    );
  }

  async rewrite(changes: readonly FrontendChange[], signal: AbortSignal): Promise<void> {
    // All are taken over before anything may fail.
    for (const [family, rules] of this.#families) rules.change(changesOf(changes, family));
    const { localhostNodePorts, families, run } = this.#options;
    if (localhostNodePorts && families.includes("IPv4")) await run(["tee", routeLocalnet], { input: "1", signal });
    for (const [family, rules] of this.#families) {
      const program = await this.#programFor(family, signal);
      for (const text of rewriteTexts(rules.chains, await program.save(signal))) await program.restore(text, signal);
    }
  }

  async change(changes: readonly FrontendChange[], signal: AbortSignal): Promise<void> {
    const texts = [...this.#families].map(
      ([family, rules]) => [family, rules.change(changesOf(changes, family))] as const,
    );
    for (const [family, text] of texts) await (await this.#programFor(family, signal)).restore(text, signal);
  }

  /** Whether nobody has removed all rules since they were written. */
  async isIntact(signal: AbortSignal): Promise<boolean> {
    for (const family of this.#families.keys()) {
      const program = await this.#programFor(family, signal);
      for (const table of ["mangle", "filter", "nat"])
        if (!(await program.hasChain(table, canary, signal))) return false;
    }
    return true;
  }

  async cleanup(signal: AbortSignal): Promise<void> {
    for (const family of this.#families.keys())
      for (const program of await allPrograms(this.#options.run, family, signal))
        await program.restore(cleanupText(await program.save(signal)), signal);
  }

  async #programFor(family: FrontendFamily, signal: AbortSignal): Promise<IptablesProgram> {
    const program = this.#programs.get(family) ?? (await findProgram(this.#options.run, family, signal));
    this.#programs.set(family, program);
    return program;
  }
}

const changesOf = (
  changes: readonly FrontendChange[],
  family: FrontendFamily,
): ReadonlyMap<string, readonly Frontend[]> =>
  new Map(
    changes.filter((change) => change.family === family).map(({ service, frontends }) => [service, frontends] as const),
  );
