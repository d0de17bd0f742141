// Keeps an APIService for each version of a group that custom resources are served in, and removes those that this server made for versions
// it no longer has. What people have made or taken over, by removing the label, is left alone.
// Follows kube-aggregator/pkg/controllers/autoregister and pkg/controlplane/controller/crdregistration upstream.
import { CustomResourceDefinition } from "#api/apiextensions/v1/custom-resource-definition.ts";
import { APIService } from "#api/apiregistration/v1/api-service.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { customPriority, customVersionPriority } from "#schema/discovery.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { ServerWrites } from "../bootstrap/server-writes.ts";
import type { CacheEvent, CacheOf } from "../watch-cache.ts";
import { KeyedWork } from "./keyed-work.ts";

/** On an APIService: whether a server keeps it, always (`true`) or at its start alone (`onstart`). */
export const managedLabel = "kube-aggregator.kubernetes.io/automanaged";

export interface RegistrationOptions {
  readonly cacheOf: CacheOf;
  readonly writes: ServerWrites;
  /** The versions that are built in, as `v1.apps`. */
  readonly builtIn: () => ReadonlySet<string>;
  readonly clock: Clock;
  readonly log: Log;
}

export class Registration {
  readonly #options: RegistrationOptions;
  readonly #work: KeyedWork;
  /** Made by a server before, for built-in versions that this one does not serve. */
  readonly #leftOver = new Set<string>();

  constructor(options: RegistrationOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#work = new KeyedWork({
      name: "registration of local APIs",
      clock,
      log,
      backoff: { firstMs: 5, maxMs: 60_000 },
      work: (name, signal) => this.#settle(name, signal),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { cacheOf, builtIn } = this.#options;
    const [definitions, services] = [cacheOf(CustomResourceDefinition), cacheOf(APIService)];
    const wanted = () => definitions.list(definitions.prefix).flatMap(({ object }) => versionsIn(object));
    const present = () => services.list(services.prefix).map(({ object }) => object.metadata.name ?? "");
    const lookAtAll = () => {
      for (const name of [...wanted(), ...present()]) this.#work.add(name);
    };
    const changed = (namesIn: (object: ApiObject) => readonly string[]) => ({
      reset: lookAtAll,
      events: (events: readonly CacheEvent[]) => {
        for (const { current, previous } of events)
          for (const one of [current, previous])
            for (const name of one ? namesIn(one.object) : []) this.#work.add(name);
      },
    });
    const stops = [
      definitions.listen(changed(versionsIn)),
      services.listen(changed(({ metadata }) => [metadata.name ?? ""])),
    ];
    for (const { object } of services.list(services.prefix))
      if (object.metadata.labels?.[managedLabel] === "onstart" && !builtIn().has(object.metadata.name ?? ""))
        this.#leftOver.add(object.metadata.name ?? "");
    try {
      await this.#work.run(() => [...wanted(), ...present()], signal);
    } finally {
      for (const stop of stops) stop();
    }
  }

  async #settle(name: string, signal: AbortSignal): Promise<undefined> {
    const { cacheOf, writes } = this.#options;
    const [definitions, services] = [cacheOf(CustomResourceDefinition), cacheOf(APIService)];
    const present = services.get(`${services.prefix}${name}`)?.object as (ApiObject & APIService) | undefined;
    const isWanted = definitions.list(definitions.prefix).some(({ object }) => servedIn(object).includes(name));
    const wanted = isWanted ? serviceOf(name) : undefined;
    try {
      if (!present) {
        if (wanted) await writes.create(APIService, wanted, signal);
        return undefined;
      }
      const label = present.metadata.labels?.[managedLabel];
      if (label !== "true" && !(label === "onstart" && this.#leftOver.has(name))) return undefined;
      if (!wanted) await writes.remove(APIService, present as ApiObject, signal);
      else if (!equal(present.spec, wanted.spec))
        await writes.update(APIService, { ...present, spec: wanted.spec } as ApiObject, signal);
      this.#leftOver.delete(name);
    } catch (error) {
      // Another server was faster, or a person: what they did causes another look.
      if (!(error instanceof ApiError && ["AlreadyExists", "Conflict", "NotFound"].includes(error.reason))) throw error;
    }
    return undefined;
  }
}

/** The versions that a definition names, served or not. */
function versionsIn(object: ApiObject): readonly string[] {
  const { group, versions } = (object as ApiObject & CustomResourceDefinition).spec;
  return versions.map(({ name }) => `${name}.${group}`);
}

function servedIn(object: ApiObject): readonly string[] {
  const { group, versions } = (object as ApiObject & CustomResourceDefinition).spec;
  return versions.filter(({ served }) => served).map(({ name }) => `${name}.${group}`);
}

function serviceOf(name: string): DraftObject {
  const dot = name.indexOf(".");
  return {
    apiVersion: APIService.apiVersion,
    kind: APIService.kind,
    metadata: { name, labels: { [managedLabel]: "true" } },
    spec: {
      group: name.slice(dot + 1),
      version: name.slice(0, dot),
      groupPriorityMinimum: customPriority.group,
      versionPriority: customVersionPriority,
    },
  };
}
