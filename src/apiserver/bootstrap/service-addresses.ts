// Keeps an IPAddress for each address that a service has, so that everybody can see which are taken and by whom: makes those that are
// missing, and removes those whose service is gone or has given the address up. See upstream's
// pkg/registry/core/service/ipallocator and its repair controller.
//
// The services themselves say who has what; addresses that others have put into the API are left alone, and not given out.
import { Service, type ServiceSpec } from "#api/core/v1/service.ts";
import { IPAddress } from "#api/networking/v1/ip-address.ts";
import { equal, inBatches } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { addressAllocator, familyLabel, managedByLabel } from "#rules/service-ranges.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { familyOf } from "../strategies/service/families.ts";
import { canonicalIp } from "../strategies/service/ranges.ts";
import type { CacheEvent, CacheOf } from "../watch-cache.ts";
import type { ServerWrites } from "./server-writes.ts";

export interface ServiceAddressesOptions {
  readonly cacheOf: CacheOf;
  readonly writes: ServerWrites;
  readonly log: Log;
}

const atOnce = 16;

interface Parent {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/** What matters of an IPAddress; whole objects would take as much memory as the cache. */
interface Present {
  readonly metadata: { readonly name: string; readonly uid: string };
  /** Whether a server made it, for a service. */
  readonly isOurs: boolean;
  readonly parent: Parent;
}

export class ServiceAddresses {
  readonly #options: ServiceAddressesOptions;
  /** Which service has an address, and which addresses are in the API: kept up by events, since there may be very many. */
  readonly #holders = new Map<string, Parent>();
  readonly #present = new Map<string, Present>();
  #unfollow: (() => void) | undefined;
  /** Addresses of which something has changed. */
  readonly #changed = new Set<string>();
  #wake: (() => void) | undefined;

  constructor(options: ServiceAddressesOptions) {
    this.#options = options;
  }

  /** Looks at all addresses. */
  async reconcile(signal: AbortSignal): Promise<void> {
    this.#follow();
    await this.#settle(new Set([...this.#holders.keys(), ...this.#present.keys()]), signal);
  }

  /** Follows what services get and give up. */
  async run(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    this.#follow();
    const wake = () => this.#wake?.();
    signal.addEventListener("abort", wake, { once: true });
    try {
      while (!signal.aborted) {
        const changed = new Set(this.#changed);
        this.#changed.clear();
        if (changed.size === 0) await this.#news(signal);
        else
          await this.#settle(changed, signal).catch((error: unknown) => {
            // The next look at all addresses puts right what is missing.
            if (!signal.aborted) log.warn("addresses of services are not in the API", { error });
          });
      }
    } finally {
      signal.removeEventListener("abort", wake);
      this.#unfollow?.();
      this.#unfollow = undefined;
    }
  }

  #follow(): void {
    if (this.#unfollow) return;
    const { cacheOf } = this.#options;
    const [services, addresses] = [cacheOf(Service), cacheOf(IPAddress)];
    const countServices = () => {
      this.#holders.clear();
      for (const [, { object }] of services.range(services.prefix)) this.#hold(object);
    };
    const countAddresses = () => {
      this.#present.clear();
      for (const [, { object }] of addresses.range(addresses.prefix))
        this.#present.set(nameOf(object), presentOf(object));
    };
    const stops = [
      services.listen({ events: (events) => this.#servicesChanged(events), reset: countServices }),
      addresses.listen({ events: (events) => this.#addressesChanged(events), reset: countAddresses }),
    ];
    countServices();
    countAddresses();
    this.#unfollow = () => {
      for (const stop of stops) stop();
    };
  }

  #hold(service: ApiObject): void {
    for (const address of addressesOf(service)) this.#holders.set(address, parentOf(service));
  }

  #servicesChanged(events: readonly CacheEvent[]): void {
    for (const { previous, current } of events) {
      const [before = [], after = []] = [previous, current].map((one) => (one ? addressesOf(one.object) : []));
      if (equal(before, after)) continue;
      for (const address of before)
        if (previous && equal(this.#holders.get(address), parentOf(previous.object))) this.#holders.delete(address);
      if (current) this.#hold(current.object);
      for (const address of [...before, ...after]) this.#changed.add(address);
    }
    if (this.#changed.size > 0) this.#wake?.();
  }

  #addressesChanged(events: readonly CacheEvent[]): void {
    for (const { previous, current } of events)
      if (current) this.#present.set(nameOf(current.object), presentOf(current.object));
      else if (previous) this.#present.delete(nameOf(previous.object));
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (this.#changed.size > 0 || signal.aborted) return resolve();
      this.#wake = resolve;
    });
  }

  async #settle(addresses: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const unsettled = [...addresses].filter((address) => !this.#isSettled(address));
    await inBatches(atOnce, unsettled, (address) => this.#settleOne(address, signal));
  }

  #isSettled(address: string): boolean {
    const present = this.#present.get(address);
    const holder = this.#holders.get(address);
    if (!present) return holder === undefined;
    return !present.isOurs || equal(present.parent, holder);
  }

  async #settleOne(address: string, signal: AbortSignal): Promise<void> {
    const { writes } = this.#options;
    const present = this.#present.get(address);
    const holder = this.#holders.get(address);
    try {
      if (present) await writes.remove(IPAddress, present, signal);
      if (holder) await writes.create(IPAddress, addressObject(address, holder), signal);
    } catch (error) {
      // Another server was faster.
      if (!(error instanceof ApiError && ["AlreadyExists", "NotFound", "Conflict"].includes(error.reason))) throw error;
    }
  }
}

const nameOf = ({ metadata }: ApiObject): string => metadata.name ?? "";

const presentOf = ({ metadata: { name = "", uid = "", labels }, spec }: ApiObject): Present => ({
  metadata: { name, uid },
  isOurs: labels?.[managedByLabel] === addressAllocator,
  parent: spec.parentRef,
});

const addressesOf = ({ spec }: ApiObject): readonly string[] =>
  ((spec as ServiceSpec).clusterIPs ?? []).filter((ip) => ip !== "None" && ip !== "").map(canonicalIp);

const parentOf = ({ metadata: { namespace = "", name = "" } }: ApiObject): Parent => ({
  resource: Service.plural,
  namespace,
  name,
});

const addressObject = (address: string, parentRef: Parent): DraftObject => ({
  apiVersion: IPAddress.apiVersion,
  kind: IPAddress.kind,
  metadata: {
    name: address,
    labels: { [familyLabel]: familyOf(address), [managedByLabel]: addressAllocator },
  },
  spec: { parentRef },
});
