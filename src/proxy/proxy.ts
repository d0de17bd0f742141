// Keeps the packet rules of one node as the services and their endpoints say. A change wakes the services it is about; all that
// have woken by the time the kernel is free go to it in one transaction.
import { Node } from "#api/core/v1/node.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import type { Informers } from "#client/informers.ts";
import { slicesOf } from "#client/service-slices.ts";
import { serviceKeyOf } from "#rules/services.ts";
import { type Family, type Frontend, frontendsOf } from "./frontends.ts";
import { type Contribution, contributionOf, type NftSettings } from "./nft-rules.ts";
import { RuleBook } from "./rule-book.ts";

/** What the proxy needs of a node's kernel. */
export interface PacketFilter {
  /** Does all commands, or none and rejects. */
  apply(script: string, signal: AbortSignal): Promise<void>;
  /** Ends what the kernel remembers of datagrams to a frontend that went to a target which is none any more, or to none. */
  forgetFlows(flows: readonly StaleFlow[], signal: AbortSignal): Promise<void>;
}

export interface StaleFlow {
  readonly family: Family;
  /** Absent for a node port. */
  readonly address: string | undefined;
  readonly port: number;
  /** Absent for flows that went to no target at all. */
  readonly target?: string;
}

export interface ProxyOptions {
  readonly informers: Informers;
  readonly filter: PacketFilter;
  /** The name of the node. */
  readonly node: string;
  readonly families: readonly Family[];
  readonly settings: NftSettings;
  readonly clock: Clock;
  readonly log: Log;
}

const foreignProxy = "service.kubernetes.io/service-proxy-name";
const zoneLabel = "topology.kubernetes.io/zone";
const retryMs = { first: 1_000, most: 30_000 };

export class ServiceProxy implements Component {
  readonly name = "proxy";
  readonly #options: ProxyOptions;
  readonly #books: ReadonlyMap<Family, RuleBook>;
  readonly #datagrams = new Map<string, readonly Frontend[]>();
  readonly #woken = new Set<string>();
  #wake: () => void = () => undefined;
  #isSynced = false;

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#books = new Map(options.families.map((family) => [family, new RuleBook(family, options.settings)]));
  }

  /** Whether the kernel has had all that was there when it began. */
  get hasSynced(): boolean {
    return this.#isSynced;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { informers } = this.#options;
    const services = informers.of(Service);
    const slices = informers.of(EndpointSlice);
    const nodes = informers.of(Node);
    const stops = [
      services.onChange(({ key }) => this.#enqueue(key)),
      slices.onChange(({ old, object }) => {
        for (const one of [old, object]) {
          const service = one && serviceKeyOf(one);
          if (service !== undefined) this.#enqueue(service);
        }
      }),
      nodes.onChange(({ key, old, object }) => {
        if (key !== this.#options.node || zoneOf(old) === zoneOf(object)) return;
        for (const service of services.cache.keys()) this.#enqueue(service);
      }),
    ];
    try {
      await Promise.all([services.synced(signal), slices.synced(signal), nodes.synced(signal)]);
      await this.#loop(signal);
    } finally {
      for (const stop of stops) stop();
    }
  }

  #enqueue(key: string): void {
    this.#woken.add(key);
    this.#wake();
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, log, filter } = this.#options;
    let isWhole = false;
    for (let waitMs = retryMs.first; ; ) {
      const keys = [...this.#woken];
      this.#woken.clear();
      const { script, stale } = this.#plan(keys);
      try {
        const whole = isWhole ? script : [...this.#books.values()].map((book) => book.rewrite()).join("");
        if (whole !== "") await filter.apply(whole, signal);
        isWhole = this.#isSynced = true;
        if (stale.length > 0) await filter.forgetFlows(stale, signal);
        waitMs = retryMs.first;
        if (this.#woken.size === 0) await this.#nextChange(signal);
      } catch (error) {
        signal.throwIfAborted();
        // What is in the kernel is not known any more: the next attempt replaces all of it.
        isWhole = false;
        log.error("packet rules could not be changed; trying again", { error: explain(error), services: keys.length });
        await clock.sleep(waitMs, signal);
        waitMs = Math.min(waitMs * 2, retryMs.most);
      }
    }
  }

  #plan(keys: readonly string[]): { readonly script: string; readonly stale: readonly StaleFlow[] } {
    const stale: StaleFlow[] = [];
    const scripts = [...this.#books].map(([family, book]) => {
      const changed = new Map<string, Contribution | undefined>();
      for (const key of keys) {
        const frontends = this.#frontendsOf(key, family);
        changed.set(key, frontends.length === 0 ? undefined : contributionOf(key, frontends, family));
        stale.push(...this.#staleFlows(`${family} ${key}`, frontends, family));
      }
      return book.change(changed);
    });
    return { script: scripts.join(""), stale };
  }

  #frontendsOf(key: string, family: Family): readonly Frontend[] {
    const { informers, node } = this.#options;
    const service = informers.of(Service).cache.get(key);
    if (!service || service.metadata.labels?.[foreignProxy] !== undefined) return [];
    const zone = zoneOf(informers.of(Node).cache.get(node));
    return frontendsOf(service, slicesOf(informers.of(EndpointSlice).cache, key), { name: node, zone }, family);
  }

  /** Datagrams know no end: a sender that goes on would be sent to the old target for as long as it does. */
  #staleFlows(id: string, frontends: readonly Frontend[], family: Family): readonly StaleFlow[] {
    const present = frontends.filter(({ protocol }) => protocol === "udp");
    const before = this.#datagrams.get(id) ?? [];
    if (present.length === 0) this.#datagrams.delete(id);
    else this.#datagrams.set(id, present);
    const gone = before.flatMap(({ address, port, targets }) => {
      const now = present.find((one) => one.address === address && one.port === port);
      const kept = new Set(now?.targets.map((target) => target.address));
      return targets
        .filter((target) => !kept.has(target.address))
        .map((target) => ({ family, address, port, target: target.address }));
    });
    // Who began to send before there was a target would go on sending to nobody.
    const opened = present.filter(
      ({ address, port, targets }) =>
        targets.length > 0 &&
        !before.some((one) => one.address === address && one.port === port && one.targets.length > 0),
    );
    return [...gone, ...opened.map(({ address, port }) => ({ family, address, port }))];
  }

  #nextChange(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => reject(signal.reason);
    signal.throwIfAborted();
    signal.addEventListener("abort", abort, { once: true });
    this.#wake = resolve;
    return promise.finally(() => signal.removeEventListener("abort", abort));
  }
}

const zoneOf = (node: Node | undefined): string | undefined => node?.metadata.labels?.[zoneLabel];
