// Keeps one node's rules for traffic to services as the services and their endpoints say, in any proxy mode. Changed services wait in
// a set while the mode is at work; all that wait by then go to it together.
import { Node } from "#api/core/v1/node.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { type Metrics, noMetrics } from "#base/metrics.ts";
import type { Component } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Informers } from "#client/informers.ts";
import { slicesOf } from "#client/service-slices.ts";
import { serviceKeyOf } from "#rules/services.ts";
import { type Frontend, type FrontendFamily, frontendsOf } from "./frontends.ts";
import { ProxyMeter } from "./metrics.ts";
import type { ProxyHealth } from "./proxy-health.ts";
import type { FrontendChange, ProxyMode } from "./proxy-mode.ts";
import { type ConnectionTracking, type StaleFlow, StaleFlows } from "./stale-flows.ts";

export interface ProxyOptions {
  readonly informers: Informers;
  readonly mode: ProxyMode;
  /** Modes of which an earlier process may have left something on the node. */
  readonly others?: readonly ProxyMode[];
  readonly connections: ConnectionTracking;
  /** The name of the node. */
  readonly node: string;
  readonly families: readonly FrontendFamily[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Told of changes and of rules that follow them. */
  readonly health?: ProxyHealth;
}

const foreignProxy = "service.kubernetes.io/service-proxy-name";
const triggerTime = "endpoints.kubernetes.io/last-change-trigger-time";
const zoneLabel = "topology.kubernetes.io/zone";
/** How often it is looked whether the rules are still there. */
const lookMs = 30_000;
const retryMs = { first: 1_000, most: 30_000 };

export class ServiceProxy implements Component {
  readonly name = "proxy";
  readonly #options: ProxyOptions;
  readonly #staleFlows = new StaleFlows();
  /** Services that have changed since the mode was last told, as `namespace/name`. */
  readonly #changed = new Set<string>();
  #wake: () => void = () => undefined;
  #isSynced = false;

  readonly #meter: ProxyMeter;

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#meter = new ProxyMeter(options.metrics ?? noMetrics, options.clock, options.families);
  }

  /** Whether the node has had rules for all services that were there when the proxy began. */
  get hasSynced(): boolean {
    return this.#isSynced;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { informers } = this.#options;
    const services = informers.of(Service);
    const slices = informers.of(EndpointSlice);
    const nodes = informers.of(Node);
    const stops = [
      services.onChange(({ key }) => {
        this.#meter.changed("service");
        this.#enqueue(key);
      }),
      slices.onChange(({ old, object }) => {
        this.#meter.changed("endpoint", object?.metadata.annotations?.[triggerTime]);
        for (const slice of [old, object]) {
          const service = slice && serviceKeyOf(slice);
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
    this.#changed.add(key);
    this.#options.health?.changed();
    this.#wake();
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, log, mode, connections } = this.#options;
    await this.#cleanOthers(signal);
    let isNodeKnown = false;
    let lastLook = clock.elapsed();
    for (let waitMs = retryMs.first; ; ) {
      const services = [...this.#changed];
      this.#changed.clear();
      const { changes, stale } = this.#changesOf(services);
      const [isFull, begun] = [!isNodeKnown, clock.elapsed()];
      try {
        if (isNodeKnown) await mode.change(changes, signal);
        else await mode.rewrite(changes, signal);
        isNodeKnown = this.#isSynced = true;
        this.#meter.written(changes, isFull, clock.elapsed() - begun);
        if (this.#changed.size === 0) this.#options.health?.written();
        if (stale.length > 0) await connections.forget(stale, signal);
        waitMs = retryMs.first;
        if (clock.elapsed() - lastLook >= lookMs) {
          await mode.tidy?.(signal);
          lastLook = clock.elapsed();
        }
        if (this.#changed.size === 0) isNodeKnown = await this.#nextChange(signal);
      } catch (error) {
        signal.throwIfAborted();
        isNodeKnown = false;
        this.#meter.failed(mode, isFull);
        log.error("rules for services could not be changed; trying again", {
          mode: mode.name,
          error: explain(error),
          services: services.length,
        });
        await clock.sleep(waitMs, signal);
        waitMs = Math.min(waitMs * 2, retryMs.most);
      }
    }
  }

  /** What other modes left would carry traffic to endpoints of old. */
  async #cleanOthers(signal: AbortSignal): Promise<void> {
    const { log, others = [] } = this.#options;
    for (const other of others)
      try {
        await other.cleanup(signal);
      } catch (error) {
        signal.throwIfAborted();
        log.warn("what another proxy mode may have left is not removed", { mode: other.name, error: explain(error) });
      }
  }

  #changesOf(services: readonly string[]): {
    readonly changes: readonly FrontendChange[];
    readonly stale: readonly StaleFlow[];
  } {
    const changes = this.#options.families.flatMap((family) =>
      services.map((service) => ({ service, family, frontends: this.#frontendsOf(service, family) })),
    );
    const stale = changes.flatMap(({ service, family, frontends }) =>
      this.#staleFlows.update(service, family, frontends),
    );
    return { changes, stale };
  }

  #frontendsOf(key: string, family: FrontendFamily): readonly Frontend[] {
    const { informers, node } = this.#options;
    const service = informers.of(Service).cache.get(key);
    if (!service || service.metadata.labels?.[foreignProxy] !== undefined) return [];
    const zone = zoneOf(informers.of(Node).cache.get(node));
    return frontendsOf(service, slicesOf(informers.of(EndpointSlice).cache, key), { name: node, zone }, family);
  }

  /** Resolves when there is something to do, with whether what the mode put on the node is still there. */
  async #nextChange(signal: AbortSignal): Promise<boolean> {
    const { clock, mode } = this.#options;
    const wake = Promise.withResolvers<"changed" | "late">();
    this.#wake = () => wake.resolve("changed");
    const cancel = mode.isIntact || mode.tidy ? clock.after(lookMs, () => wake.resolve("late")) : () => undefined;
    const why = await unlessAborted(wake.promise, signal).finally(cancel);
    return why === "changed" || !mode.isIntact || (await mode.isIntact(signal));
  }
}

const zoneOf = (node: Node | undefined): string | undefined => node?.metadata.labels?.[zoneLabel];
