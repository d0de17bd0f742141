// The server as admission plugins see it: what is in its caches, who may do what, and the two writes that admission itself makes.

import type { Clock } from "#base/clock.ts";
import { isNotFound } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { Draft, Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { Authorize } from "#serving/authorization.ts";
import type { ApiRequest, ApiResponse, User } from "#wire/api-request.ts";
import type { Registry } from "../registry/registry.ts";
import type { WebhookClient } from "../webhook/client.ts";

export interface AdmissionServer {
  /** Where it is noted how long plugins take. */
  readonly metrics?: MetricRegistry;
  readonly clock: Clock;
  readonly random: Random;
  readonly authorize: Authorize;
  readonly webhooks: WebhookClient;
  readonly log?: Log;
  /** A request of the server to itself, by way of all stages: what other servers answer for is asked this way. */
  readonly request: (request: ApiRequest) => Promise<ApiResponse>;

  /** From the cache, which may not have seen a write of the last moment. */
  get<K extends AnyKind>(kind: K, name: string, namespace?: string): Infer<K> | undefined;
  /** All of a kind, or of a namespace, from the cache. */
  list<K extends AnyKind>(kind: K, namespace?: string): readonly Infer<K>[];
  /** Resolves once the cache holds every write that was acknowledged before the call. */
  settled(signal: AbortSignal): Promise<void>;
  /** All stored kinds. */
  readonly kinds: readonly AnyKind[];
  /** All versions in which a stored kind is served, itself included. */
  versionsOf(kind: AnyKind): readonly AnyKind[];
  /** Makes something of all objects of a kind: once, and again when one of them has changed. */
  derived<K extends AnyKind, T>(kind: K, make: (objects: readonly Infer<K>[]) => T): () => T;

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
export const ownUser: User = { name: "system:apiserver", groups: ["system:masters", "system:authenticated"] };

class ObjectChanged extends Error {}

export interface AdmissionServerOptions
  extends Pick<
    AdmissionServer,
    "metrics" | "clock" | "random" | "log" | "authorize" | "webhooks" | "request" | "versionsOf"
  > {
  /** Of all kinds that are stored now. Filled after the chain, which registries are made with. */
  readonly registries: ReadonlyMap<AnyKind, Registry>;
}

export function admissionServer({ registries, ...rest }: AdmissionServerOptions): AdmissionServer {
  const registryOf = (kind: AnyKind): Registry => {
    const registry = registries.get(kind);
    if (!registry) throw new Error(`${kind.apiVersion} ${kind.kind} is not stored here`);
    return registry;
  };
  return {
    ...rest,
    get kinds() {
      return [...registries.keys()];
    },
    get<K extends AnyKind>(kind: K, name: string, namespace?: string) {
      const registry = registryOf(kind);
      return registry.objects.inMemory(registry.keyOf(namespace, name))?.object as Infer<K> | undefined;
    },
    list<K extends AnyKind>(kind: K, namespace?: string) {
      const registry = registryOf(kind);
      return registry.objects.allInMemory(registry.prefixOf(namespace)).map(({ object }) => object as Infer<K>);
    },
    derived<K extends AnyKind, T>(kind: K, make: (objects: readonly Infer<K>[]) => T) {
      let from: readonly unknown[] | undefined;
      let made: T;
      return () => {
        const registry = registryOf(kind);
        const list = registry.objects.allInMemory(registry.prefixOf(undefined));
        if (list !== from) {
          made = make(list.map(({ object }) => object as Infer<K>));
          from = list;
        }
        return made;
      };
    },
    async settled(signal) {
      const [any] = registries.values();
      await any?.objects.caughtUp(signal);
    },
    create: (kind, object, signal) => create(registryOf(kind), kind, object as object, signal),
    replace: <K extends AnyKind>(kind: K, based: Infer<K>, object: Infer<K>, signal: AbortSignal) =>
      replace(registryOf(kind), based as object as ApiObject, object as object as DraftObject, signal) as Promise<
        Infer<K> | undefined
      >,
  };
}

async function create(registry: Registry, kind: AnyKind, object: object, signal: AbortSignal): Promise<void> {
  const draft = applyDefaults(kind, structuredClone(object) as never) as DraftObject;
  const options = { dryRun: false, fieldManager: "kube-apiserver", fieldValidation: "Ignore", force: false } as const;
  await registry.create(ownRequest(kind, "create", signal), draft, options);
}

async function replace(
  registry: Registry,
  { metadata: { name = "", namespace, resourceVersion } }: ApiObject,
  object: DraftObject,
  signal: AbortSignal,
): Promise<ApiObject | undefined> {
  const request: ApiRequest = { ...ownRequest(registry.kind, "update", signal), name };
  try {
    const stored = await registry.modify(request, registry.keyOf(namespace, name), false, (current) => {
      if (current.metadata.resourceVersion !== resourceVersion) throw new ObjectChanged();
      return structuredClone(object);
    });
    return stored.object;
  } catch (error) {
    if (error instanceof ObjectChanged || isNotFound(error)) return undefined;
    throw error;
  }
}

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
