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
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import type { Informers } from "#client/informers.ts";
import { slicesOf } from "#client/service-slices.ts";
import { ProxyLoop, type ReverseProxy } from "./proxy-loop.ts";
import { type RoutingResult, routesOf } from "./routes.ts";
import type { KeyPairCheck } from "./secrets.ts";

export interface IngressControllerOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly proxy: ReverseProxy;
  readonly isKeyPair: KeyPairCheck;
  /** The service by which the proxy is reached: `kube-system/ingress`. */
  readonly service: string;
  readonly clock: Clock;
  readonly log: Log;
}

const kinds = [Ingress, IngressClass, Service, EndpointSlice, Secret];

export class IngressController implements Component {
  readonly name = "ingress";
  readonly #options: IngressControllerOptions;
  readonly #told = new Set<string>();
  readonly #loop: ProxyLoop<RoutingResult>;

  constructor(options: IngressControllerOptions) {
    this.#options = options;
    this.#loop = new ProxyLoop({
      ...options,
      kinds,
      route: () => this.#routes(),
      report: async (result, signal) => {
        this.#tellProblems(result);
        await this.#tellAddresses(result.ingresses, signal);
      },
    });
  }

  /** Whether the proxy does what the cluster says. */
  get hasSynced(): boolean {
    return this.#loop.hasSynced;
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
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
      isKeyPair: this.#options.isKeyPair,
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
