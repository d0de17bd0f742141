// Keeps the objects that every cluster has: makes what is missing, now and whenever it is taken away, and keeps the `kubernetes`
// service leading to the servers that are alive. Several servers may do so at once.
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { StoreEngine } from "#store/engine.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import type { ServedResource } from "../served-resource.ts";
import type { ServiceNetwork } from "../strategies/service/ranges.ts";
import {
  defaultServiceCidr,
  kubernetesEndpoints,
  kubernetesService,
  systemNamespaces,
  systemPriorityClasses,
  type Wanted,
} from "./objects.ts";
import { endPresence, renewPresence } from "./presence.ts";

const intervalMs = 10_000;
const tries = 5;
const meanwhile: ReadonlySet<string> = new Set(["AlreadyExists", "Conflict", "Invalid", "NotFound"]);

export interface Advertised {
  /** Where this server can be reached from pods; without one, the service leads to the others only. */
  readonly address: string | undefined;
  readonly port: number;
}

export interface SystemObjectsOptions {
  readonly store: StoreEngine;
  readonly clock: Clock;
  readonly log: Log;
  readonly network: ServiceNetwork;
  readonly advertised: Advertised;
  /** What this cluster has besides. */
  readonly besides?: readonly Wanted[];
  /** Writes as any client does, as the server itself. */
  readonly request: (request: ApiRequest) => Promise<ApiResponse>;
  readonly find: (kind: AnyKind) => ServedResource;
}

export class SystemObjects implements Component {
  readonly name = "system objects";
  readonly #options: SystemObjectsOptions;

  constructor(options: SystemObjectsOptions) {
    this.#options = options;
  }

  /** Reconciles every few seconds, for the first time after the first few. */
  async run(signal: AbortSignal): Promise<void> {
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
    const { network, advertised, besides = [] } = this.#options;
    const [main] = network.addresses;
    const ensure = (all: readonly Wanted[]) => Promise.all(all.map((one) => this.#ensure(one, signal)));
    await ensure(systemNamespaces);
    await Promise.all([
      ensure([
        ...systemPriorityClasses,
        defaultServiceCidr(network),
        kubernetesService(main, advertised.port),
        ...besides,
      ]),
      this.#alive(signal).then(ensure),
    ]);
  }

  /** Where the `kubernetes` service leads. */
  async #alive(signal: AbortSignal): Promise<readonly Wanted[]> {
    const { advertised, store } = this.#options;
    if (advertised.address === undefined) return [];
    return kubernetesEndpoints(await renewPresence(store, advertised.address, signal), advertised.port);
  }

  async #ensure({ kind, object, isKept }: Wanted, signal: AbortSignal): Promise<void> {
    const { registry } = this.#options.find(kind);
    for (let left = tries; ; left--) {
      try {
        const key = registry.keyOf(object.metadata.namespace, object.metadata.name ?? "");
        const present = (await registry.current(key, signal))?.object;
        if (!present) return await this.#write("create", kind, object, signal);
        const merged = isKept ? led(present, object) : present;
        if (!equal(merged, present)) await this.#write("update", kind, merged, signal);
        return;
      } catch (error) {
        // Another server, or a person, wrote the same object, or took the address for it: look again.
        const again = error instanceof ApiError && meanwhile.has(error.reason);
        if (!again || left === 0) throw new Error(`make ${kind.kind} ${object.metadata.name}`, { cause: error });
      }
    }
  }

  async #write(
    verb: "create" | "update",
    { group, version, plural }: AnyKind,
    object: DraftObject | ApiObject,
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace, name = "" } = object.metadata;
    await this.#options.request({
      user: { name: "system:apiserver", groups: ["system:masters", "system:authenticated"] },
      verb,
      group,
      version,
      resource: plural,
      ...(namespace !== undefined && { namespace }),
      ...(verb === "update" && { name }),
      query: new URLSearchParams(),
      body: {
        decode: () => ({ object: structuredClone(object), strictErrors: [] }),
        value: () => structuredClone(object),
      },
      userAgent: "kube-apiserver",
      signal,
    });
  }
}

/** What people added to the metadata stays; where the service leads is ours to say. */
const led = (present: ApiObject, { metadata, ...rest }: DraftObject): ApiObject => ({
  ...present,
  ...rest,
  metadata: { ...present.metadata, labels: { ...present.metadata.labels, ...metadata.labels } },
});
