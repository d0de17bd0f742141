// Health check ports for load balancers: a service of externalTrafficPolicy Local has one on every node, which says whether an endpoint of
// the service is on that node.
// Upstream: pkg/proxy/healthcheck/service_health.go.
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import { index } from "#client/cache.ts";
import type { Informers } from "#client/informers.ts";
import { keyOf } from "#client/object-key.ts";
import { slicesOf } from "#client/service-slices.ts";
import { healthPortOf } from "./frontends.ts";

/** A server on one port, until it is closed. */
export interface PortServer {
  close(): Promise<void>;
}

export interface HealthAnswer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface HealthPortsOptions {
  readonly informers: Informers;
  /** The name of the node. */
  readonly node: string;
  /** Whether the packet rules of the node are made. */
  readonly isHealthy: () => boolean;
  /** Answers every request to a port of the node with what `answer` returns then. Rejects if it cannot listen on the port. */
  readonly serve: (port: number, answer: () => HealthAnswer, signal: AbortSignal) => Promise<PortServer>;
  readonly clock: Clock;
  readonly log: Log;
}

const checked = index(Service, (service) => (portOf(service) === undefined ? [] : [""]));
const retryMs = 10_000;

export class HealthPorts implements Component {
  readonly name = "health-ports";
  readonly #options: HealthPortsOptions;
  /** By port and service. */
  readonly #open = new Map<string, PortServer>();

  constructor(options: HealthPortsOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { informers, clock } = this.#options;
    const services = informers.of(Service);
    let changed = Promise.withResolvers<void>();
    const stop = services.onChange(({ old, object }) => {
      if (portOf(old) !== portOf(object)) changed.resolve();
    });
    try {
      await services.synced(signal);
      for (;;) {
        changed = Promise.withResolvers<void>();
        const isWhole = await this.#follow(services.cache.by(checked.values, ""), signal);
        const cancel = isWhole ? () => undefined : clock.after(retryMs, changed.resolve);
        await unlessAborted(changed.promise, signal).finally(cancel);
      }
    } finally {
      stop();
      await Promise.all([...this.#open.values()].map((served) => served.close()));
    }
  }

  /** Opens and closes ports until there is one for each of the services. Resolves with whether that is so. */
  async #follow(services: readonly Service[], signal: AbortSignal): Promise<boolean> {
    const { serve, log } = this.#options;
    const desired = new Map(services.map((service) => [`${portOf(service)} ${keyOf(service.metadata)}`, service]));
    for (const [id, served] of this.#open) {
      if (desired.has(id)) continue;
      this.#open.delete(id);
      await served.close();
    }
    let isWhole = true;
    for (const [id, service] of desired) {
      if (this.#open.has(id)) continue;
      const port = portOf(service) ?? 0;
      try {
        this.#open.set(id, await serve(port, () => this.#answer(service.metadata), signal));
      } catch (error) {
        signal.throwIfAborted();
        isWhole = false;
        log.error("health of a service cannot be served; trying again", {
          service: keyOf(service.metadata),
          port,
          error: explain(error),
        });
      }
    }
    return isWhole;
  }

  /** As upstream's proxy answers, to the byte. */
  #answer({ namespace, name }: Service["metadata"]): HealthAnswer {
    const isHealthy = this.#options.isHealthy();
    const count = this.#localEndpoints(keyOf({ namespace, name }));
    const body = {
      service: { namespace, name },
      localEndpoints: count,
      serviceProxyHealthy: isHealthy,
    };
    return {
      code: count > 0 && isHealthy ? 200 : 503,
      headers: {
        "content-type": "application/json",
        "x-content-type-options": "nosniff",
        "x-load-balancing-endpoint-weight": String(count),
      },
      body: JSON.stringify(body, null, "\t"),
    };
  }

  #localEndpoints(service: string): number {
    const { informers, node } = this.#options;
    const addresses = slicesOf(informers.of(EndpointSlice).cache, service).flatMap(({ endpoints }) =>
      endpoints
        .filter(({ nodeName, conditions: { ready = true } }) => ready && nodeName === node)
        .map((endpoint) => endpoint.addresses[0]),
    );
    return new Set(addresses).size;
  }
}

const portOf = (service: Service | undefined): number | undefined => healthPortOf(service?.spec);
