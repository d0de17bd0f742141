// Keeps a proxy as the Gateways and routes of the cluster say. Every replica keeps its own; the one that leads also makes the services
// by which Gateways are reached, and writes what became of the objects into their statuses.
import { Deployment } from "#api/apps/v1/deployment.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { slicesOf } from "#client/service-slices.ts";
import { unlessGone } from "#client/unless-gone.ts";
import { controlledBy } from "#rules/owners.ts";
import type { AnyKind } from "#schema/kind.ts";
import { ProxyLoop, type ProxyLoopOptions } from "../proxy-loop.ts";
import type { KeyPairCheck } from "../secrets.ts";
import { type GatewayRouting, gatewayRoutesOf } from "./gateway-routes.ts";
import { Gateway, GatewayClass, GRPCRoute, gatewayKinds, HTTPRoute, ReferenceGrant, TLSRoute } from "./kinds.ts";
import { isAsWanted, managedBy, serviceNameOf, servicesFor } from "./services.ts";
import { writeStatuses } from "./write-statuses.ts";

export interface GatewayControllerOptions
  extends Pick<ProxyLoopOptions<GatewayRouting>, "informers" | "proxy" | "clock" | "log"> {
  readonly client: Client;
  readonly isKeyPair: KeyPairCheck;
  /** Whether this replica is the one that writes. */
  readonly isLeader: () => boolean;
  /** The Deployment of the proxy's pods, in whose namespace the services are. */
  readonly deployment: { readonly namespace: string; readonly name: string };
}

const kinds: readonly AnyKind[] = [...gatewayKinds, Service, EndpointSlice, Secret, Namespace];
const fieldManager = "knarr-gateway";

export class GatewayController implements Component {
  readonly name = "gateway";
  readonly #options: GatewayControllerOptions;
  readonly #loop: ProxyLoop<GatewayRouting>;

  constructor(options: GatewayControllerOptions) {
    this.#options = options;
    this.#loop = new ProxyLoop({
      ...options,
      kinds,
      route: () => this.#routes(),
      report: async (routing, signal) => {
        if (!options.isLeader()) return;
        const client = options.client.bound({ signal });
        await this.#keepServices(routing, client);
        await writeStatuses(routing, client, options);
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

  /** To be called by whoever begins to lead. */
  wake(): void {
    this.#loop.wake();
  }

  #routes(): GatewayRouting {
    const { informers, isKeyPair, deployment } = this.#options;
    const slices = informers.of(EndpointSlice).cache;
    const services = informers.of(Service).cache;
    return gatewayRoutesOf({
      classes: informers.of(GatewayClass).cache.list(),
      gateways: informers.of(Gateway).cache.list(),
      httpRoutes: informers.of(HTTPRoute).cache.list(),
      grpcRoutes: informers.of(GRPCRoute).cache.list(),
      tlsRoutes: informers.of(TLSRoute).cache.list(),
      grants: informers.of(ReferenceGrant).cache.list(),
      service: (key) => services.get(key),
      slices: (key) => slicesOf(slices, key),
      secret: (key) => informers.of(Secret).cache.get(key),
      namespaceLabels: (name) => informers.of(Namespace).cache.get(name)?.metadata.labels,
      isKeyPair,
      serviceOf: (gateway) => services.get(`${deployment.namespace}/${serviceNameOf(gateway)}`),
    });
  }

  async #keepServices({ gateways }: GatewayRouting, client: Client): Promise<void> {
    const { informers, deployment } = this.#options;
    const { namespace } = deployment;
    const services = informers.of(Service).cache;
    const owner = await client.find(Deployment, deployment);
    const wanted = servicesFor(gateways, {
      namespace,
      selector: owner?.spec.selector.matchLabels ?? { "k8s-app": "gateway" },
      ...(owner && { owner: [{ ...controlledBy(Deployment, owner), controller: false, blockOwnerDeletion: false }] }),
    });
    const names = new Set(wanted.map(({ metadata }) => metadata?.name));
    for (const service of wanted) {
      const name = service.metadata?.name ?? "";
      const present = services.get(`${namespace}/${name}`);
      if (present && isAsWanted(present, service)) continue;
      await client.patch(Service, { namespace, name }, "apply", service, { fieldManager, force: true });
    }
    for (const { metadata } of services.list()) {
      const isOurs = Object.entries(managedBy).every(([key, value]) => metadata.labels?.[key] === value);
      if (isOurs && metadata.namespace === namespace && !names.has(metadata.name) && !metadata.deletionTimestamp)
        await unlessGone(client.delete(Service, { namespace, name: metadata.name }));
    }
  }
}
