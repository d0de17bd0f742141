// Routes of the host to services, through the nodes that are ready. Addresses of load balancers that only nodes with an endpoint answer
// for (`externalTrafficPolicy: Local`) are routed to one of those nodes, which stays the way while it answers: if the kernel chose among
// several anew whenever one comes or goes, open connections would be cut.
import { Node } from "#api/core/v1/node.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { index } from "#client/cache.ts";
import type { Informers } from "#client/informers.ts";
import { keyOf } from "#client/object-key.ts";
import { slicesOf } from "#client/service-slices.ts";
import { isReady } from "#rules/conditions.ts";
import { type Pins, stepsToPin, stepsToRoute, stepsToUnpin } from "./host-routes.ts";
import type { LocalNetwork, LocalNode } from "./local-network.ts";
import type { Stages } from "./network-step.ts";
import { addressFor } from "./ranges.ts";

export interface ServiceRoutesOptions {
  readonly network: LocalNetwork;
  readonly informers: Informers;
  readonly apply: (stages: Stages, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

const isPinned = ({ spec }: Service): boolean => spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";
const pinnedServices = index(Service, (service) => (isPinned(service) ? [""] : []));
/** Debounce: changes within this time are applied together. */
const debounceMs = 20;
const retryMs = 1_000;

export class ServiceRoutes implements Component {
  readonly name = "service-routes";
  readonly #options: ServiceRoutesOptions;
  /** The nodes that single addresses are routed to. */
  #pins: Pins = new Map();

  constructor(options: ServiceRoutesOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { informers, network, apply, clock, log } = this.#options;
    const kinds = [Node, Service, EndpointSlice] as const;
    let changed = Promise.withResolvers<void>();
    const stops = kinds.map((kind) => informers.of(kind).onChange(() => changed.resolve()));
    const aborted = () => changed.resolve(); // ends the wait; the next check of the signal throws
    signal.addEventListener("abort", aborted, { once: true });
    try {
      await Promise.all(kinds.map((kind) => informers.of(kind).synced(signal)));
      let applied: DesiredRoutes | undefined;
      for (;;) {
        changed = Promise.withResolvers<void>();
        signal.throwIfAborted();
        const desired = this.#computeRoutes();
        try {
          for (const stages of stepsBetween(network, applied, desired)) await apply(stages, signal);
          applied = desired;
          await changed.promise;
          await clock.sleep(debounceMs, signal);
        } catch (error) {
          signal.throwIfAborted();
          applied = undefined; // what the kernel has is not known any more
          log.error("routes to services could not be changed; trying again", { error: explain(error) });
          await clock.sleep(retryMs, signal);
        }
      }
    } finally {
      signal.removeEventListener("abort", aborted);
      for (const stop of stops) stop();
    }
  }

  #computeRoutes(): DesiredRoutes {
    const { informers, network } = this.#options;
    const slices = informers.of(EndpointSlice).cache;
    const ready = new Set(
      informers
        .of(Node)
        .cache.list()
        .filter(isReady)
        .map(({ metadata }) => metadata.name),
    );
    const alive = network.nodes.filter(({ name }) => ready.has(name));
    const services = informers.of(Service).cache.by(pinnedServices.values, "");
    this.#pins = pinsOf(services, alive, (service) => slicesOf(slices, keyOf(service.metadata)), this.#pins);
    return { alive, pins: this.#pins };
  }
}

interface DesiredRoutes {
  readonly alive: readonly LocalNode[];
  readonly pins: Pins;
}

function stepsBetween(
  network: LocalNetwork,
  before: DesiredRoutes | undefined,
  after: DesiredRoutes,
): readonly Stages[] {
  const pins = before ? before.pins : new Map();
  const changed = new Map([...after.pins].filter(([address, nodes]) => !isSame(pins.get(address), nodes)));
  const gone = new Map([...pins].filter(([address]) => !after.pins.has(address)));
  return [
    ...(before ? [] : [stepsToUnpin(network)]),
    ...(before && isSame(before.alive, after.alive) ? [] : [stepsToRoute(network, after.alive)]),
    stepsToPin(network, gone, changed),
  ];
}

const isSame = (a: readonly LocalNode[] | undefined, b: readonly LocalNode[]): boolean =>
  a?.length === b.length && b.every(({ name }, i) => a[i]?.name === name);

/** An address whose service has no endpoint anywhere is not pinned: any node refuses it. */
function pinsOf(
  services: readonly Service[],
  alive: readonly LocalNode[],
  endpointsOf: (service: Service) => readonly EndpointSlice[],
  before: Pins,
): Pins {
  return new Map(
    services.flatMap((service) => {
      const places = new Set(
        endpointsOf(service).flatMap(({ endpoints }) =>
          endpoints
            .filter(({ conditions: { ready = true, serving = ready } }) => ready || serving)
            .map(({ nodeName }) => nodeName),
        ),
      );
      const [first, ...others] = alive.filter(({ name }) => places.has(name));
      if (!first) return [];
      const nodes = [first, ...others] as const;
      return (service.status.loadBalancer.ingress ?? []).flatMap(({ ip }) =>
        ip === undefined || nodes.some(({ addresses }) => addressFor(ip, addresses) === undefined)
          ? []
          : [[ip, [wayTo(ip, nodes, before.get(ip)?.[0])]] as const],
      );
    }),
  );
}

/** The node that is the way already, or one of those that answer: another one for other addresses. */
function wayTo(ip: string, nodes: readonly [LocalNode, ...LocalNode[]], present: LocalNode | undefined): LocalNode {
  const sum = [...ip].reduce((total, character) => total + character.charCodeAt(0), 0);
  return nodes.find(({ name }) => name === present?.name) ?? nodes[sum % nodes.length] ?? nodes[0];
}
