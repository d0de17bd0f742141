// Keeps the objects that every cluster has: makes what is missing, now and whenever it is taken away, and keeps the `kubernetes`
// service leading to the servers that are alive. Several servers may do so at once.

import { Lease } from "#api/coordination/v1/lease.ts";
import { FlowSchema } from "#api/flowcontrol/v1/flow-schema.ts";
import { ServiceCIDR } from "#api/networking/v1/service-cidr.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import type { Component } from "#base/supervise.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import type { RequestHeaderTrust } from "#serving/request-headers.ts";
import type { StoreEngine } from "#store/engine.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import type { ServedApis } from "../served/served-apis.ts";
import type { ServedResource } from "../served-resource.ts";
import type { ServiceNetwork } from "../strategies/service/ranges.ts";
import type { CacheOf } from "../watch-cache.ts";
import { localApiServices } from "./api-services.ts";
import { authenticationInfo, tokenTracking } from "./authentication-info.ts";
import { FlowControlObjects } from "./flow-control-objects.ts";
import { isStale, leaseName, leaseNamespace, renewedLease } from "./identity-lease.ts";
import {
  defaultServiceCidr,
  kubernetesEndpoints,
  kubernetesService,
  missingReadiness,
  type SystemObject,
  serviceCidrManager,
  serviceCidrName,
  systemNamespaces,
  systemPriorityClasses,
} from "./objects.ts";
import { endPresence, renewPresence } from "./presence.ts";
import { ServerWrites } from "./server-writes.ts";
import { ServiceAddresses } from "./service-addresses.ts";

const intervalMs = 10_000;
const tries = 5;
const meanwhile: ReadonlySet<string> = new Set(["AlreadyExists", "Conflict", "Invalid", "NotFound"]);

export interface AdvertisedAddress {
  /** Where this server can be reached from pods; without one, the service leads to the others only. */
  readonly address: string | undefined;
  readonly port: number;
  /** The name of the machine; without one, the server has no lease. */
  readonly hostname?: string;
  /** The authority whose client certificates are believed. */
  readonly clientCa?: string | undefined;
  /** Whose word is taken for who asks. */
  readonly requestHeaders?: RequestHeaderTrust | undefined;
}

export interface SystemObjectsOptions {
  readonly store: StoreEngine;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly network: ServiceNetwork;
  readonly advertised: AdvertisedAddress;
  /** What this cluster has besides. */
  readonly besides?: readonly SystemObject[];
  /** Writes as any client does, as the server itself. */
  readonly request: (request: ApiRequest) => Promise<ApiResponse>;
  readonly find: (kind: AnyKind) => ServedResource;
  /** What is served. */
  readonly apis: ServedApis;
  readonly cacheOf: CacheOf;
}

export class SystemObjects implements Component {
  readonly name = "system objects";
  readonly #options: SystemObjectsOptions;
  readonly #writes: ServerWrites;
  readonly #addresses: ServiceAddresses;
  readonly #flowControl: FlowControlObjects;
  readonly #holder: string;

  constructor(options: SystemObjectsOptions) {
    const { request, cacheOf, log } = options;
    this.#options = options;
    this.#holder = options.random.uuid();
    this.#writes = new ServerWrites(request);
    this.#flowControl = new FlowControlObjects(options.find, this.#writes);
    this.#addresses = new ServiceAddresses({ cacheOf, log, writes: this.#writes });
  }

  /** Reconciles every few seconds, for the first time after the first few. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#addresses.run(signal), this.#reconcileAtTimes(signal)]);
  }

  async #reconcileAtTimes(signal: AbortSignal): Promise<void> {
    const { clock, store, advertised } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(intervalMs, signal).catch(() => undefined); // aborted: the loop ends
      if (!signal.aborted) await this.attempt(signal);
    }
    if (advertised.address !== undefined) await endPresence(store, advertised.address);
  }

  /** Reconciles. A failure is told, and tried again in the next round: the cluster lives on meanwhile. */
  async attempt(signal: AbortSignal): Promise<void> {
    try {
      await this.reconcile(signal);
    } catch (error) {
      if (!signal.aborted) this.#options.log.warn("system objects are not as they should be", { error });
    }
  }

  async reconcile(signal: AbortSignal): Promise<void> {
    const { network, advertised, clock, besides = [] } = this.#options;
    const [main] = network.addresses;
    const { apis } = this.#options;
    const isServed = ({ kind }: SystemObject) => apis.find(kind.group, kind.version, kind.plural) !== undefined;
    const ensure = (all: readonly SystemObject[]) =>
      Promise.all(all.filter(isServed).map((one) => this.#ensure(one, signal)));
    await ensure(systemNamespaces);
    await Promise.all([
      ensure([
        ...systemPriorityClasses,
        ...localApiServices(this.#options.apis),
        authenticationInfo(advertised.clientCa, advertised.requestHeaders),
        tokenTracking(clock.now()),
        defaultServiceCidr(network),
        kubernetesService(main, advertised.port),
        ...besides,
      ]),
      apis.find(FlowSchema.group, FlowSchema.version, FlowSchema.plural) && this.#flowControl.reconcile(signal),
      this.#alive(signal).then(ensure),
      this.#renewLease(signal),
    ]);
    await this.#tellReady(signal);
    await this.#addresses.reconcile(signal);
  }

  /** Where the `kubernetes` service leads. */
  async #alive(signal: AbortSignal): Promise<readonly SystemObject[]> {
    const { advertised, store } = this.#options;
    if (advertised.address === undefined) return [];
    return kubernetesEndpoints(await renewPresence(store, advertised.address, signal), advertised.port);
  }

  /** Renews the lease of this server, and removes those of servers that are no more. */
  async #renewLease(signal: AbortSignal): Promise<void> {
    const { advertised, clock, find } = this.#options;
    const { hostname, address, port } = advertised;
    if (hostname === undefined) return;
    const { registry } = find(Lease);
    const peer = address === undefined ? undefined : `${address}:${port}`;
    const identity = { hostname, holder: this.#holder, peer };
    const key = registry.keyOf(leaseNamespace, leaseName(identity));
    const present = (await registry.objects.current(key, { signal }))?.object;
    const lease = renewedLease(identity, present, clock.now());
    if (present) await this.#writes.update(Lease, lease, signal);
    else await this.#writes.create(Lease, lease as DraftObject, signal);
    for (const { object } of registry.objects.allInMemory(registry.prefixOf(leaseNamespace)))
      if (isStale(object, clock.now())) await this.#writes.remove(Lease, object, signal);
  }

  /** Says in the status what is true of the object from the beginning, where nobody has said anything yet. */
  async #tellCondition({ kind, object, condition }: SystemObject, present: ApiObject | undefined, signal: AbortSignal) {
    const isSaid = present?.status?.conditions?.some(({ type }: { type: string }) => type === condition?.type);
    if (!condition || isSaid) return;
    const { apiVersion, kind: name, metadata } = object;
    const conditions = [{ ...condition, lastTransitionTime: timeOf(this.#options.clock.now()) }];
    const status = { apiVersion, kind: name, metadata: { name: metadata.name ?? "" }, status: { conditions } };
    await this.#writes.applyStatus(kind, status as DraftObject, "kube-apiserver", signal);
  }

  async #ensure(wanted: SystemObject, signal: AbortSignal): Promise<void> {
    const { kind, object, isKept } = wanted;
    const { registry } = this.#options.find(kind);
    for (let left = tries; ; left--) {
      try {
        const key = registry.keyOf(object.metadata.namespace, object.metadata.name ?? "");
        const present = (await registry.objects.current(key, { signal }))?.object;
        const merged = present && isKept ? led(present, object) : present;
        if (!present) await this.#writes.create(kind, object, signal);
        else if (merged && !equal(merged, present)) await this.#writes.update(kind, merged, signal);
        return await this.#tellCondition(wanted, present, signal);
      } catch (error) {
        // Another server, or a person, wrote the same object, or took the address for it: look again.
        const again = error instanceof ApiError && meanwhile.has(error.reason);
        if (!again || left === 0) throw new Error(`make ${kind.kind} ${object.metadata.name}`, { cause: error });
      }
    }
  }

  /** Says that services can get addresses of the ranges of this server, where nobody has said anything yet. */
  async #tellReady(signal: AbortSignal): Promise<void> {
    const { network, find, clock } = this.#options;
    const { registry } = find(ServiceCIDR);
    const present = (await registry.objects.current(registry.keyOf(undefined, serviceCidrName), { signal }))?.object;
    const status = present && missingReadiness(present, network, clock.now());
    if (status) await this.#writes.applyStatus(ServiceCIDR, status, serviceCidrManager, signal);
  }
}

/** What people added to the metadata stays; where the service leads is ours to say. */
const led = (present: ApiObject, { metadata, data, ...rest }: DraftObject): ApiObject => ({
  ...present,
  ...rest,
  ...(data && { data: { ...present.data, ...data } }),
  metadata: {
    ...present.metadata,
    ...(metadata.labels && { labels: { ...present.metadata.labels, ...metadata.labels } }),
  },
});
