// Services by a process that takes connections and carries them on, as the first proxy of Kubernetes did. iptables rules lead traffic to its
// ports: the chains are those of iptables mode, and only their ends differ. So policies, sources and refusals are the same in both.
// Upstream: pkg/proxy/iptables/proxier.go.
import { UsageError } from "#base/errors.ts";
import type { Portal } from "../../forwarder.ts";
import type { Frontend, FrontendFamily } from "../../frontends.ts";
import type { FrontendChange, ProxyMode, ProxyModeOptions } from "../../proxy-mode.ts";
import { RestoredRules } from "../iptables/restored-rules.ts";
import { joined, rule } from "../iptables/rule-text.ts";
import { type Delivery, servicePorts } from "../iptables/service-chains.ts";

export function userspace(options: ProxyModeOptions): ProxyMode {
  const portals = new Portals(options);
  const rules = new RestoredRules(options, { deliver: (family) => () => portals.delivery(family), masquerades: false });
  return {
    name: "userspace",
    async rewrite(changes, signal) {
      const carried = changes.map(withoutSctp);
      portals.change(carried);
      await portals.open(portals.all, signal);
      await rules.rewrite(carried, signal);
      await portals.close(signal);
    },
    async change(changes, signal) {
      const carried = changes.map(withoutSctp);
      await portals.open(portals.change(carried), signal);
      await rules.change(carried, signal);
      await portals.close(signal);
    },
    isIntact: async (signal) => portals.isOpen && (await rules.isIntact(signal)),
    cleanup: (signal) => rules.cleanup(signal),
  };
}

/** Node has no sockets of SCTP. */
const withoutSctp = (change: FrontendChange): FrontendChange => ({
  ...change,
  frontends: change.frontends.filter(({ protocol }) => protocol !== "sctp"),
});

/** The portals of all services: each chain that leads to endpoints has one. */
class Portals {
  readonly #options: ProxyModeOptions;
  /** By family and service. */
  readonly #services = new Map<string, readonly Portal[]>();
  readonly #ports = new Map<string, number>();
  /** Keys of portals that no rule will lead to any more. */
  readonly #unneeded = new Set<string>();

  constructor(options: ProxyModeOptions) {
    this.#options = options;
  }

  get all(): readonly Portal[] {
    return [...this.#services.values()].flat();
  }

  get isOpen(): boolean {
    return this.#options.forwarder?.isRunning === true;
  }

  /** Takes over the changes, and returns the portals that these services have now. */
  change(changes: readonly FrontendChange[]): readonly Portal[] {
    return changes.flatMap(({ service, family, frontends }) => {
      const id = `${family} ${service}`;
      const before = this.#services.get(id) ?? [];
      const after = portalsOf(service, frontends, family);
      if (after.length === 0) this.#services.delete(id);
      else this.#services.set(id, after);
      for (const { key } of before) this.#unneeded.add(key);
      for (const { key } of after) this.#unneeded.delete(key);
      return after;
    });
  }

  async open(portals: readonly Portal[], signal: AbortSignal): Promise<void> {
    if (portals.length === 0) return;
    const ports = await this.#forwarder.open(portals, signal);
    portals.forEach(({ key }, i) => {
      this.#ports.set(key, ports[i] ?? 0);
    });
  }

  /** Closes those that rules no longer lead to. */
  async close(signal: AbortSignal): Promise<void> {
    if (this.#unneeded.size === 0) return;
    await this.#forwarder.close([...this.#unneeded], signal);
    for (const key of this.#unneeded) this.#ports.delete(key);
    this.#unneeded.clear();
  }

  get #forwarder() {
    const { forwarder } = this.#options;
    if (!forwarder) throw new UsageError("proxy mode userspace has no process here that carries connections");
    return forwarder;
  }

  delivery(family: FrontendFamily): Delivery {
    const isOf = (address: string) => address.includes(":") === (family === "IPv6");
    const own = (this.#options.nodeAddresses ?? []).find(isOf);
    return ({ protocol }, chain) => {
      const port = this.#ports.get(keyOf(family, chain)) ?? 0;
      // What the node itself sends must not go to its loopback address: answers to datagrams would come from another.
      const fromHere = rule({
        protocol,
        matches: ["-m addrtype --src-type LOCAL", `-m ${protocol}`],
        jump: `DNAT --to-destination ${joined(own ?? "", port)}`,
      });
      const redirect = rule({ protocol, jump: `REDIRECT --to-ports ${port}` });
      return { rules: own === undefined ? [redirect] : [fromHere, redirect], chains: new Map() };
    };
  }
}

const keyOf = (family: FrontendFamily, chain: string): string => `${family} ${chain}`;

function portalsOf(service: string, frontends: readonly Frontend[], family: FrontendFamily): readonly Portal[] {
  return servicePorts(service, frontends).flatMap(({ port, policies }) =>
    policies.map(([chain, targets]) => ({
      key: keyOf(family, chain),
      family,
      protocol: port.protocol === "udp" ? ("udp" as const) : ("tcp" as const),
      targets: targets.map(({ address, port: at }) => ({ address, port: at })),
      ...(port.affinitySeconds !== undefined && { affinitySeconds: port.affinitySeconds }),
    })),
  );
}
