// Deletes the objects of a definition that is being deleted, and lets go of it when none is left. Follows
// apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go, which looks every five seconds whether objects remain; here the
// cache tells when the last one goes.
import { CustomResourceDefinition } from "#api/apiextensions/v1/custom-resource-definition.ts";
import type { Clock } from "#base/clock.ts";
import { ApiError, explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { backoffMs } from "#base/retry.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import type { ServerWrites } from "../bootstrap/server-writes.ts";
import { cleanupFinalizer } from "../strategies/custom-resource-definition.ts";
import type { CacheOf, WatchCache } from "../watch-cache.ts";
import { isTrue, type NewCondition, withCondition } from "./conditions.ts";

export interface CleanupOptions {
  readonly cacheOf: CacheOf;
  readonly writes: ServerWrites;
  /** The kinds of a definition that are served. */
  readonly kindsOf: (definition: string) => readonly AnyKind[];
  readonly objectsOf: (kind: AnyKind) => WatchCache;
  readonly clock: Clock;
  readonly log: Log;
}

const terminating = (status: "True" | "False", reason: string, message: string): NewCondition => ({
  type: "Terminating",
  status,
  reason,
  message,
});

/** The definitions of these would be served from what is stored of the built-in kinds. */
const builtIn: ReadonlySet<string> = new Set([
  "apiservices.apiregistration.k8s.io",
  "customresourcedefinitions.apiextensions.k8s.io",
]);

export class Cleanup {
  readonly #options: CleanupOptions;
  readonly #cache: WatchCache;
  readonly #underWay = new Set<string>();

  constructor(options: CleanupOptions) {
    this.#options = options;
    this.#cache = options.cacheOf(CustomResourceDefinition);
  }

  /** Begins with a definition, unless that is under way already. */
  begin(name: string, signal: AbortSignal): void {
    if (this.#underWay.has(name) || !this.#mustClean(name)) return;
    this.#underWay.add(name);
    void this.#untilClean(name, signal).finally(() => this.#underWay.delete(name));
  }

  async #untilClean(name: string, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    for (let failures = 0; this.#mustClean(name) && !signal.aborted; failures++)
      try {
        await this.#clean(name, signal);
      } catch (error) {
        if (signal.aborted) return;
        const isExpected = error instanceof ApiError && (error.code === 409 || error.code === 404);
        if (!isExpected) log.warn("objects of a custom resource definition could not be deleted", { name, error });
        await clock.sleep(backoffMs({ firstMs: 5, maxMs: 60_000 }, failures), signal).catch(() => undefined); // aborted: the loop ends
      }
  }

  async #clean(name: string, signal: AbortSignal): Promise<void> {
    const begun = terminating("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress");
    await this.#write(name, begun, signal);
    const outcome = await this.#deleteAll(name, signal);
    await this.#write(name, outcome, signal);
    const definition = this.#find(name);
    if (!definition) return;
    const { metadata } = definition;
    const finalizers = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== cleanupFinalizer);
    const released = { ...definition, metadata: { ...metadata, finalizers } };
    await this.#options.writes.update(CustomResourceDefinition, released as object as ApiObject, signal);
  }

  async #deleteAll(name: string, signal: AbortSignal): Promise<NewCondition> {
    const definition = this.#find(name);
    if (builtIn.has(name))
      return terminating("False", "OverlappingBuiltInResource", "instances overlap with built-in resources in storage");
    const [kind] = this.#options.kindsOf(name);
    if (!definition || !isTrue(definition, "Established") || !kind)
      return terminating("False", "NeverEstablished", "resource was never established");
    try {
      await this.#deleteObjects(kind, signal);
    } catch (error) {
      const why = `could not issue all deletes: ${explain(error)}`;
      if (!signal.aborted) await this.#write(name, terminating("True", "InstanceDeletionFailed", why), signal);
      throw error;
    }
    await this.#untilEmpty(kind, signal);
    return terminating("False", "InstanceDeletionCompleted", "removed all instances");
  }

  async #deleteObjects(kind: AnyKind, signal: AbortSignal): Promise<void> {
    const cache = this.#options.objectsOf(kind);
    for (const { object } of cache.list(cache.prefix)) {
      if (object.metadata.deletionTimestamp !== undefined) continue;
      try {
        await this.#options.writes.remove(kind, object, signal);
      } catch (error) {
        if (!(error instanceof ApiError && (error.code === 404 || error.code === 409))) throw error; // gone, or another by now
      }
    }
  }

  /** Objects with finalizers stay until whoever is to remove those has done it. */
  async #untilEmpty(kind: AnyKind, signal: AbortSignal): Promise<void> {
    const cache = this.#options.objectsOf(kind);
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (cache.size === 0 || cache.isClosed) resolve();
    };
    const stop = cache.listen({ events: look, reset: look, end: resolve });
    look();
    await unlessAborted(promise, signal).finally(stop);
    if (cache.size > 0) throw new Error(`${kind.plural}.${kind.group} changed while its objects were being deleted`);
  }

  /** The newest state is written to: a conflict means that there is a newer one. */
  async #write(name: string, condition: NewCondition, signal: AbortSignal): Promise<void> {
    const definition = this.#find(name);
    if (!definition) return;
    const { status } = definition;
    const now = timeOf(this.#options.clock.now());
    const next = { ...status, conditions: withCondition(status.conditions ?? [], condition, now) };
    const written = { ...definition, status: next } as object as DraftObject;
    await this.#options.writes.updateStatus(CustomResourceDefinition, written, signal);
  }

  #mustClean(name: string): boolean {
    const metadata = this.#find(name)?.metadata;
    return (
      metadata?.deletionTimestamp !== undefined && (metadata.finalizers ?? []).some((one) => one === cleanupFinalizer)
    );
  }

  #find(name: string): CustomResourceDefinition | undefined {
    const stored = this.#cache.get(this.#cache.prefix + name);
    return stored && (stored.object as object as CustomResourceDefinition);
  }
}
