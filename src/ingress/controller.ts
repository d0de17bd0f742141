// Keeps a proxy as the Ingresses of the cluster say, and tells the Ingresses where it is reached.
import { Secret } from "#api/core/v1/secret.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { Ingress } from "#api/networking/v1/ingress.ts";
import { IngressClass } from "#api/networking/v1/ingress-class.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { backoffMs } from "#base/retry.ts";
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import type { Informers } from "#client/informers.ts";
import { slicesOf } from "#client/service-slices.ts";
import type { ProxyState } from "./proxy-state.ts";
import { type RoutingResult, routesOf } from "./routes.ts";

export interface IngressProxy {
  become(state: ProxyState, signal: AbortSignal): Promise<void>;
  sweep(signal: AbortSignal): Promise<void>;
  readonly hasLeaving: boolean;
}

export interface IngressControllerOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly proxy: IngressProxy;
  /** The service by which the proxy is reached: `kube-system/ingress`. */
  readonly service: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Changes come in bursts: a rollout changes a slice several times. */
const settleMs = 10;
const sweepMs = 2000;
const failureBackoff = { firstMs: 200, maxMs: 10_000 };
const kinds = [Ingress, IngressClass, Service, EndpointSlice, Secret];

export class IngressController implements Component {
  readonly name = "ingress";
  readonly #options: IngressControllerOptions;
  readonly #told = new Set<string>();
  #wake = Promise.withResolvers<void>();
  #hasSynced = false;

  constructor(options: IngressControllerOptions) {
    this.#options = options;
  }

  /** Whether the proxy does what the cluster says. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { informers, proxy, clock, log } = this.#options;
    for (const kind of kinds) await informers.of(kind).synced(signal);
    for (const kind of kinds) informers.of(kind).onChange(() => this.#wake.resolve());
    for (let failures = 0; ; ) {
      this.#wake = Promise.withResolvers<void>();
      try {
        const result = this.#routes();
        await proxy.become(result.state, signal);
        await proxy.sweep(signal);
        this.#hasSynced = true;
        this.#tellProblems(result);
        await this.#tellAddresses(result.ingresses, signal);
        failures = 0;
      } catch (error) {
        signal.throwIfAborted();
        log.error("the proxy is not as it should be; trying again", { error: explain(error) });
        failures++;
      }
      if (failures > 0) await clock.sleep(backoffMs(failureBackoff, failures - 1), signal);
      else await this.#untilChanged(signal);
    }
  }

  async #untilChanged(signal: AbortSignal): Promise<void> {
    const { clock, proxy } = this.#options;
    const done = new AbortController();
    const either = AbortSignal.any([signal, done.signal]);
    const waits = [
      this.#wake.promise,
      new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
    ];
    if (proxy.hasLeaving) waits.push(clock.sleep(sweepMs, either));
    try {
      await Promise.race(waits);
    } finally {
      done.abort(new Error("changed"));
    }
    await clock.sleep(settleMs, signal);
  }

  #routes(): RoutingResult {
    const { informers } = this.#options;
    const slices = informers.of(EndpointSlice).cache;
    return routesOf({
      ingresses: informers.of(Ingress).cache.list(),
      classes: informers.of(IngressClass).cache.list(),
      service: (key) => informers.of(Service).cache.get(key),
      slices: (key) => slicesOf(slices, key),
      secret: (key) => informers.of(Secret).cache.get(key),
    });
  }

  /** Each once. */
  #tellProblems({ problems }: RoutingResult): void {
    for (const { ingress, text } of problems) {
      const { namespace, name, generation } = ingress.metadata;
      const key = `${namespace}/${name} ${generation} ${text}`;
      if (this.#told.has(key)) continue;
      this.#told.add(key);
      this.#options.log.warn("an Ingress cannot be served as it says", {
        ingress: `${namespace}/${name}`,
        problem: text,
      });
    }
  }

  async #tellAddresses(ingresses: readonly Ingress[], signal: AbortSignal): Promise<void> {
    const { client, informers, service, log } = this.#options;
    const reached = informers.of(Service).cache.get(service)?.status.loadBalancer?.ingress ?? [];
    const addresses = reached.map(({ ip, hostname }) => ({ ...(ip && { ip }), ...(hostname && { hostname }) }));
    for (const ingress of ingresses) {
      if (equal(ingress.status.loadBalancer.ingress ?? [], addresses)) continue;
      const status = { loadBalancer: addresses.length > 0 ? { ingress: addresses } : {} };
      // Another replica may have written the same.
      await client
        .bound({ signal })
        .update(Ingress, { ...ingress, status }, "status")
        .catch((error: unknown) => log.debug("the address of an Ingress was not written", { error: explain(error) }));
    }
  }
}
