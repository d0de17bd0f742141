// Follows the custom resource definitions, says of each what becomes of it, and serves what they define.
//
// Changes are taken together: all definitions that wait are named, then served in one step, then told of it. A bundle of hundreds of
// definitions so costs one change of what is served, not hundreds.
import { CustomResourceDefinition } from "#api/apiextensions/v1/custom-resource-definition.ts";
import { breathe } from "#base/breathe.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { type Backoff, backoffMs } from "#base/retry.ts";
import type { Component } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import type { ServerWrites } from "../bootstrap/server-writes.ts";
import type { RuntimeKinds } from "../served/runtime-kinds.ts";
import type { CacheOf, WatchCache } from "../watch-cache.ts";
import { Cleanup } from "./cleanup.ts";
import { establishedStatus, isTrue, namedStatus } from "./conditions.ts";
import { type KindsOptions, kindsOf } from "./kinds.ts";
import { NamesOfGroup } from "./names.ts";

export interface DefinitionsOptions extends KindsOptions {
  readonly cacheOf: CacheOf;
  readonly runtimeKinds: RuntimeKinds;
  readonly writes: ServerWrites;
  /** What is stored of a kind that is served. */
  readonly objectsOf: (kind: AnyKind) => WatchCache;
  readonly clock: Clock;
  readonly log: Log;
}

/** The kinds of a definition, and what they were made from. */
interface DefinedKinds {
  readonly basis: string;
  readonly kinds: readonly AnyKind[];
}

const backoff: Backoff = { firstMs: 50, maxMs: 10_000 };
/** So many statuses are written at once. */
const writers = 16;

export class CustomResourceDefinitions implements Component {
  readonly name = "custom-resource-definitions";
  readonly #options: DefinitionsOptions;
  readonly #cache: WatchCache;
  readonly #defined = new Map<string, DefinedKinds>();
  readonly #pending = new Set<string>();
  readonly #cleanup: Cleanup;
  readonly #failures = new Map<string, number>();
  readonly #ready = Promise.withResolvers<void>();
  #wake: (() => void) | undefined;

  constructor(options: DefinitionsOptions) {
    this.#options = options;
    this.#cache = options.cacheOf(CustomResourceDefinition);
    this.#cleanup = new Cleanup({ ...options, kindsOf: (name) => this.#defined.get(name)?.kinds ?? [] });
    this.#cache.listen({
      events: (events) => {
        for (const { current, previous } of events) this.#look(nameOf((current ?? previous)?.key ?? ""));
      },
      reset: () => this.#lookAtAll(),
    });
  }

  /** Resolves when all definitions that were there at the start are served. */
  ready(signal: AbortSignal): Promise<void> {
    return unlessAborted(this.#ready.promise, signal);
  }

  /** The definition of a kind, if it is being deleted: nothing new may come. */
  isTerminating({ plural, group }: AnyKind): boolean {
    const definition = this.#find(`${plural}.${group}`);
    return (
      definition !== undefined &&
      (definition.metadata.deletionTimestamp !== undefined || isTrue(definition, "Terminating"))
    );
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#lookAtAll();
    while (!signal.aborted) {
      const names = [...this.#pending];
      this.#pending.clear();
      if (names.length > 0) await this.#turn(names, signal);
      this.#ready.resolve();
      if (this.#pending.size === 0) await this.#woken(signal);
    }
  }

  async #turn(names: readonly string[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      const now = timeOf(clock.now());
      const named = await this.#nameAll(names, now);
      await this.#serve(named, signal);
      await inParallel(named, writers, (definition) => this.#tell(definition, now, signal));
    } catch (error) {
      if (!signal.aborted) for (const name of names) this.#later(name, error, signal);
    }
  }

  /**
   * The definitions with the status they are to have, as far as names and schemas go. Who comes first gets the name. A name that one gives
   * up is free in the next turn.
   */
  async #nameAll(names: readonly string[], now: string): Promise<readonly CustomResourceDefinition[]> {
    const all = await this.#all();
    const taken = new Map<string, NamesOfGroup>();
    for (const { spec, status } of all) namesOf(taken, spec.group).add(status.acceptedNames);
    const wanted = this.#withWaiting(names, all);
    const result: CustomResourceDefinition[] = [];
    const pause = breathe();
    for (const definition of all) {
      if (!wanted.has(definition.metadata.name)) continue;
      const ofGroup = namesOf(taken, definition.spec.group);
      const status = namedStatus(definition, ofGroup, now);
      ofGroup.add(status.acceptedNames);
      result.push({ ...definition, status });
      if (pause.due()) await pause.now();
    }
    return result;
  }

  /** Names that a definition gives up, or fails to get, concern all others of its group that wait for theirs. */
  #withWaiting(names: readonly string[], all: readonly CustomResourceDefinition[]): ReadonlySet<string> {
    const groups = new Set(names.map((name) => name.slice(name.indexOf(".") + 1)));
    const waiting = all.filter((one) => groups.has(one.spec.group) && !isTrue(one, "NamesAccepted"));
    return new Set([...names, ...waiting.map(({ metadata }) => metadata.name)]);
  }

  /** Serves what all definitions define, those that were just named among them. */
  async #serve(named: readonly CustomResourceDefinition[], signal: AbortSignal): Promise<void> {
    const all = await this.#all();
    const byName = new Map([...all, ...named].map((definition) => [definition.metadata.name, definition]));
    for (const name of this.#defined.keys()) if (!byName.has(name)) this.#defined.delete(name);
    const pause = breathe();
    for (const [name, definition] of byName) {
      if (pause.due()) await pause.now();
      if (!isTrue(definition, "NamesAccepted") && !isTrue(definition, "Established")) {
        this.#defined.delete(name);
        continue;
      }
      const { metadata, status } = definition;
      const basis = JSON.stringify([metadata.uid, metadata.generation, status.acceptedNames]);
      if (this.#defined.get(name)?.basis !== basis)
        this.#defined.set(name, { basis, kinds: kindsOf(definition, this.#options) });
    }
    const kinds = [...this.#defined.values()].flatMap((defined) => defined.kinds);
    await this.#options.runtimeKinds.serve(kinds, signal);
  }

  /** Writes what is new about a definition. Whoever changed it meanwhile has woken us again. */
  async #tell(definition: CustomResourceDefinition, now: string, signal: AbortSignal): Promise<void> {
    const { name, deletionTimestamp } = definition.metadata;
    const { writes } = this.#options;
    const status = establishedStatus(definition, true, now);
    try {
      if (!equal(status, this.#find(name)?.status))
        await writes.updateStatus(CustomResourceDefinition, { ...definition, status } as object as DraftObject, signal);
      this.#failures.delete(name);
      if (deletionTimestamp !== undefined) this.#cleanup.begin(name, signal);
    } catch (error) {
      if (!signal.aborted && !isOutdated(error)) this.#later(name, error, signal);
    }
  }

  #later(name: string, error: unknown, signal: AbortSignal): void {
    const failures = this.#failures.get(name) ?? 0;
    this.#failures.set(name, failures + 1);
    this.#options.log.warn("a custom resource definition could not be served", { name, error });
    const cancel = this.#options.clock.after(backoffMs(backoff, failures), () => this.#look(name));
    signal.addEventListener("abort", cancel, { once: true });
  }

  #look(name: string): void {
    this.#pending.add(name);
    this.#wake?.();
  }

  #lookAtAll(): void {
    for (const { key } of this.#cache.list(this.#cache.prefix)) this.#pending.add(nameOf(key));
    this.#wake?.();
  }

  async #woken(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    await unlessAborted(promise, signal);
    this.#wake = undefined;
  }

  /** Reading hundreds of them takes a while. */
  async #all(): Promise<readonly CustomResourceDefinition[]> {
    const definitions: CustomResourceDefinition[] = [];
    const pause = breathe();
    for (const { object } of this.#cache.list(this.#cache.prefix)) {
      definitions.push(asDefinition(object));
      if (pause.due()) await pause.now();
    }
    return definitions;
  }

  #find(name: string): CustomResourceDefinition | undefined {
    const stored = this.#cache.get(this.#cache.prefix + name);
    return stored && asDefinition(stored.object);
  }
}

function namesOf(byGroup: Map<string, NamesOfGroup>, group: string): NamesOfGroup {
  const names = byGroup.get(group) ?? new NamesOfGroup();
  byGroup.set(group, names);
  return names;
}

const asDefinition = (object: ApiObject): CustomResourceDefinition => object as object as CustomResourceDefinition;

const nameOf = (key: string): string => key.slice(key.lastIndexOf("/") + 1);

/** The definition is another by now, or gone: there will be another turn. */
const isOutdated = (error: unknown): boolean => error instanceof ApiError && (error.code === 409 || error.code === 404);

async function inParallel<T>(items: readonly T[], most: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
}
