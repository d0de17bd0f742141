// Keeps the Available condition of APIServices: looks whenever one of them, its service or its endpoints change, and every half minute, since a
// server can fall silent without a change of any object.
// Follows kube-aggregator/pkg/controllers/status/remote and local upstream.
import { APIService } from "#api/apiregistration/v1/api-service.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { ApiError, explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { serviceKeyOf } from "#rules/services.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import { Unreachable } from "#serving/proxy/outgoing.ts";
import type { ServerWrites } from "../bootstrap/server-writes.ts";
import type { CacheEvent, CacheOf } from "../watch-cache.ts";
import type { ServiceEndpoint } from "../webhook/service-endpoints.ts";
import {
  type Availability,
  failedCheck,
  localAvailability,
  missingServer,
  passedChecks,
  withAvailability,
} from "./availability.ts";
import { KeyedWork } from "./keyed-work.ts";
import { pathOfApi, type RemoteApi, type RemoteApis } from "./remote-apis.ts";
import type { RemoteCalls } from "./remote-calls.ts";

/** A server of several is enough, and each attempt may find another. */
const attempts = 5;
const lookAgainMs = 30_000;
/** A list of resources; what is longer is none. */
const maxBytes = 8 * 1024 * 1024;

export interface AvailabilityOptions {
  readonly apis: RemoteApis;
  readonly calls: RemoteCalls;
  readonly cacheOf: CacheOf;
  readonly writes: ServerWrites;
  readonly clock: Clock;
  readonly log: Log;
  /** Told what was found of each API that is not local; undefined when it is gone. */
  readonly found: (name: string, availability: Availability | undefined) => void;
}

export class AvailabilityChecks {
  readonly #options: AvailabilityOptions;
  readonly #work: KeyedWork;

  constructor(options: AvailabilityOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#work = new KeyedWork({
      name: "availability of aggregated APIs",
      clock,
      log,
      backoff: { firstMs: 5, maxMs: lookAgainMs },
      work: (name, signal) => this.check(name, signal),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { apis, cacheOf } = this.#options;
    const services = cacheOf(APIService);
    const lookAtAll = () => {
      for (const { name } of apis.all) this.#work.add(name);
    };
    const changed = (keyOf: (object: ApiObject) => string | undefined) => ({
      reset: lookAtAll,
      events: (events: readonly CacheEvent[]) => this.#changed(events, keyOf),
    });
    const stops = [
      apis.subscribe((name) => this.#work.add(name)),
      cacheOf(Service).listen(changed(({ metadata }) => `${metadata.namespace}/${metadata.name}`)),
      cacheOf(EndpointSlice).listen(changed((slice) => serviceKeyOf(slice as ApiObject & EndpointSlice))),
    ];
    try {
      await this.#work.run(
        () => services.list(services.prefix).map(({ object }) => object.metadata.name ?? ""),
        signal,
      );
    } finally {
      for (const stop of stops) stop();
    }
  }

  /** Looks at one API, and says what was found. Answers when to look again. */
  async check(name: string, signal: AbortSignal): Promise<number | undefined> {
    const { apis, cacheOf, found } = this.#options;
    const cache = cacheOf(APIService);
    const object = cache.get(`${cache.prefix}${name}`)?.object as (ApiObject & APIService) | undefined;
    const api = apis.byName(name);
    if (!object || !api) found(name, undefined);
    if (!object) return undefined;
    const availability = api ? await this.#availabilityOf(api, signal) : localAvailability;
    if (api) found(name, availability);
    await this.#say(object, availability, signal);
    if (availability.reason === "FailedDiscoveryCheck") throw new Error(availability.message);
    return api ? lookAgainMs : undefined;
  }

  #changed(events: readonly CacheEvent[], keyOf: (object: ApiObject) => string | undefined): void {
    const { all } = this.#options.apis;
    if (all.length === 0) return;
    const keys = new Set(
      events.flatMap(({ current, previous }) => [current, previous].flatMap((one) => (one ? keyOf(one.object) : []))),
    );
    for (const { name, service } of all) if (keys.has(`${service.namespace}/${service.name}`)) this.#work.add(name);
  }

  async #availabilityOf(api: RemoteApi, signal: AbortSignal): Promise<Availability> {
    const { cacheOf } = this.#options;
    const { namespace, name } = api.service;
    const [services, slices] = [cacheOf(Service), cacheOf(EndpointSlice)];
    const service = services.get(`${services.prefix}${namespace}/${name}`)?.object as (ApiObject & Service) | undefined;
    const itsSlices = slices
      .list(`${slices.prefix}${namespace}/`)
      .map(({ object }) => object as ApiObject & EndpointSlice)
      .filter((slice) => serviceKeyOf(slice) === `${namespace}/${name}`);
    return missingServer(api, service, itsSlices) ?? this.#answer(api, signal);
  }

  /** The server must tell what it serves. One attempt of several is enough. */
  async #answer(api: RemoteApi, signal: AbortSignal): Promise<Availability> {
    const results = Array.from({ length: attempts }, () => this.#attempt(api, signal));
    try {
      await Promise.any(results);
      return passedChecks;
    } catch (error) {
      signal.throwIfAborted();
      return failedCheck(explain((error as AggregateError).errors.at(-1)));
    }
  }

  async #attempt(api: RemoteApi, signal: AbortSignal): Promise<void> {
    const { calls } = this.#options;
    const place = calls.placeOf(api);
    const url = `https://${hostAndPort(place)}${pathOfApi(api)}`;
    const failed = (why: string, cause?: unknown) =>
      new Error(`failing or missing response from ${url}: ${why}`, { cause });
    const asked = { accept: "application/json", maxBytes, signal };
    const { code } = await calls.read(api, pathOfApi(api), asked, place).catch((error: unknown) => {
      const words = error instanceof Unreachable ? error.message : explain(error);
      throw failed(`Get ${JSON.stringify(url)}: ${words}`, error);
    });
    if (code < 200 || code > 299) throw failed(`bad status from ${url}: ${code}`);
  }

  async #say(object: ApiObject & APIService, availability: Availability, signal: AbortSignal): Promise<void> {
    const { clock, writes } = this.#options;
    const before = object.status.conditions ?? [];
    const conditions = withAvailability(before, availability, timeOf(clock.now()));
    if (equal(conditions, before)) return;
    try {
      const changed = { ...object, status: { ...object.status, conditions } };
      await writes.updateStatus(APIService, changed as object as DraftObject, signal);
    } catch (error) {
      // It changed meanwhile, which causes another look.
      if (!(error instanceof ApiError && ["Conflict", "NotFound"].includes(error.reason))) throw error;
    }
  }
}

const hostAndPort = ({ address, port }: ServiceEndpoint): string =>
  `${address.includes(":") ? `[${address}]` : address}:${port}`;
