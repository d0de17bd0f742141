// The server as admission plugins see it: what is in its caches, who may do what, and the two writes that admission itself makes.

import type { Clock } from "#base/clock.ts";
import { isNotFound } from "#base/errors.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { Draft, Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { Authorize } from "#serving/authorization.ts";
import type { ApiRequest, User } from "#wire/api-request.ts";
import type { Registry } from "../registry/registry.ts";

export interface AdmissionServer {
  /** Where it is noted how long plugins take. */
  readonly metrics?: MetricRegistry;
  readonly clock: Clock;
  readonly random: Random;
  readonly authorize: Authorize;

  /** From the cache, which may not have seen a write of the last moment. */
  get<K extends AnyKind>(kind: K, name: string, namespace?: string): Infer<K> | undefined;
  /** All of a kind, or of a namespace, from the cache. */
  list<K extends AnyKind>(kind: K, namespace?: string): readonly Infer<K>[];
  /** Resolves once the cache holds every write that was acknowledged before the call. */
  settled(signal: AbortSignal): Promise<void>;
  /** All stored kinds. */
  readonly kinds: readonly AnyKind[];

  create<K extends AnyKind>(kind: K, object: Draft<Infer<K>>, signal: AbortSignal): Promise<void>;
  /**
   * Replaces an object that is still as `based` says, and answers what is now stored. Answers undefined if it has changed since, or
   * is gone.
   */
  replace<K extends AnyKind>(
    kind: K,
    based: Infer<K>,
    object: Infer<K>,
    signal: AbortSignal,
  ): Promise<Infer<K> | undefined>;
}

/** Who the server is when it writes for itself. */
const ownUser: User = { name: "system:apiserver", groups: ["system:masters", "system:authenticated"] };

class ObjectChanged extends Error {}

export interface AdmissionServerOptions extends Pick<AdmissionServer, "metrics" | "clock" | "random" | "authorize"> {
  /** Of all kinds that are stored now. Filled after the chain, which registries are made with. */
  readonly registries: ReadonlyMap<AnyKind, Registry>;
}

export function admissionServer({ registries, ...rest }: AdmissionServerOptions): AdmissionServer {
  const registryOf = (kind: AnyKind): Registry => {
    const registry = registries.get(kind);
    if (!registry) throw new Error(`${kind.apiVersion} ${kind.kind} is not stored here`);
    return registry;
  };
  const ownRequest = ({ group, version, plural }: AnyKind, verb: "create" | "update", signal: AbortSignal) => ({
    group,
    version,
    resource: plural,
    verb,
    user: ownUser,
    query: new URLSearchParams(),
    userAgent: "kube-apiserver",
    signal,
  });
  return {
    ...rest,
    get kinds() {
      return [...registries.keys()];
    },
    get<K extends AnyKind>(kind: K, name: string, namespace?: string) {
      const registry = registryOf(kind);
      return registry.options.cache.get(registry.keyOf(namespace, name))?.object as Infer<K> | undefined;
    },
    list<K extends AnyKind>(kind: K, namespace?: string) {
      const { options, prefix } = registryOf(kind);
      const from = namespace === undefined ? prefix : `${prefix}${namespace}/`;
      return options.cache.list(from).map(({ object }) => object as Infer<K>);
    },
    async settled(signal) {
      const [any] = registries.values();
      await any?.options.follower.current(signal);
    },
    async create(kind, object, signal) {
      const request: ApiRequest = ownRequest(kind, "create", signal);
      const draft = applyDefaults(kind, structuredClone(object) as never) as DraftObject;
      const options = {
        dryRun: false,
        fieldManager: "kube-apiserver",
        fieldValidation: "Ignore",
        force: false,
      } as const;
      await registryOf(kind).create(request, draft, options);
    },
    async replace<K extends AnyKind>(kind: K, based: Infer<K>, object: Infer<K>, signal: AbortSignal) {
      const { metadata } = based as unknown as ApiObject;
      const { name = "", namespace, resourceVersion } = metadata;
      const registry = registryOf(kind);
      const request: ApiRequest = { ...ownRequest(kind, "update", signal), name };
      try {
        const { object: stored } = await registry.modify(request, registry.keyOf(namespace, name), false, (current) => {
          if (current.metadata.resourceVersion !== resourceVersion) throw new ObjectChanged();
          return structuredClone(object) as unknown as DraftObject;
        });
        return stored as Infer<K>;
      } catch (error) {
        if (error instanceof ObjectChanged || isNotFound(error)) return undefined;
        throw error;
      }
    },
  };
}
