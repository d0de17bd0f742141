// Create, update, patch and delete of any kind; reads are in reader.ts. One registry serves one stored resource, in all its versions.

import { shownAsUpstream } from "#api/internal-form.ts";
import { turn } from "#base/breathe.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import type { Random } from "#base/random.ts";
import type { Soon } from "#base/soon.ts";
import { keepTimes } from "#schema/apply/keep-times.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { type Problem, tooLong } from "#schema/problem.ts";
import { validateObject, validateStatus } from "#schema/validate.ts";
import { Conflict, OutOfSpace, type PutOptions, type Revision, type StoreEngine, Unavailable } from "#store/engine.ts";
import { maxKeyBytes } from "#store/key.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import {
  alreadyExists,
  invalidObject,
  modifiedMeanwhile,
  noFreeName,
  notFound,
  type ResourceName,
  serviceUnavailable,
  unexpectedError,
} from "#wire/status.ts";
import type { Causality } from "../causality.ts";
import { largeBytes } from "../request-body.ts";
import { registryPrefix, type StoreFollower } from "../store-follower.ts";
import type { StoredForm, StoredObject } from "../stored.ts";
import type { WatchCache } from "../watch-cache.ts";
import { Feeds } from "../watcher.ts";
import type { Admission, AdmissionCall } from "./admission.ts";
import { storable } from "./object-size.ts";
import type { WriteOptions } from "./options.ts";
import {
  generatedName,
  prepareForCreate,
  prepareForPartUpdate,
  prepareForStatusUpdate,
  prepareForUpdate,
  shareUnchanged,
} from "./prepare.ts";
import type { Reserver } from "./reservation.ts";
import { parseResourceVersion, revisionOf } from "./resource-version.ts";
import type { StoreClaims } from "./store-claims.ts";
import type { Strategy, StrategyContext } from "./strategy.ts";
import { warnOf } from "./warn-of.ts";

export interface RegistryOptions {
  readonly kind: AnyKind;
  readonly strategy: Strategy;
  readonly reserver?: Reserver | undefined;
  /** Where other servers learn what this one reserves; absent where there are none. */
  readonly claims?: StoreClaims | undefined;
  readonly store: StoreEngine;
  readonly cache: WatchCache;
  readonly follower: StoreFollower;
  readonly form: StoredForm;
  readonly admission: Admission;
  readonly causality: Causality;
  /** Refuses writes that authorization cannot judge from the address alone, by throwing ApiError. */
  readonly guard?: WriteGuard;
  readonly clock: Clock;
  readonly random: Random;
}

/** Asked about every object on its way in, once admission has changed what it wants to change. */
export type WriteGuard = (
  request: ApiRequest,
  object: DraftObject,
  old: ApiObject | undefined,
) => Promise<void> | undefined;

interface Tip {
  readonly stored: StoredObject;
  readonly durable: Promise<unknown>;
}

/**
 * Makes the object to store from the one that is stored. Called again when another write came between. What is large is to be worked
 * on in several turns of the event loop.
 */
export type ObjectUpdate = (current: ApiObject, isLarge: boolean) => Soon<DraftObject>;

/** What admission sees of an update through a subresource that is an object of its own, such as a Scale. */
export interface AdmissionView {
  of(object: ApiObject): ApiObject;
  /** Takes over what admission has made of the view. May refuse, by throwing ApiError. */
  apply(shown: ApiObject, object: DraftObject): void;
}

export interface UpdateOptions extends WriteOptions {
  /** Defaults to the object itself. */
  readonly shownAs?: AdmissionView;
}

const nameTries = 8;

export class Registry {
  readonly options: RegistryOptions;
  /** How this resource is called in refusals. */
  readonly resource: ResourceName;
  /** Keys of all objects start with this. */
  readonly prefix: string;
  readonly feeds: Feeds;
  /** Writers of one key wait for each other here, instead of failing at the store. */
  readonly #turns = new Map<string, Promise<void>>();
  /** The last write of a key that is on its way to the disk: the next one builds on it, so that many share a flush. */
  readonly #tips = new Map<string, Tip>();

  constructor(options: RegistryOptions) {
    this.options = options;
    const { group, plural } = options.kind;
    this.resource = { group, resource: plural };
    this.prefix = keyPrefix(options.kind);
    this.feeds = new Feeds(options.cache);
  }

  /** Throws unless the namespace is there exactly where the kind has one: whoever asks was authorized for that very place. */
  keyOf(namespace: string | undefined, name: string): string {
    if ((this.options.kind.scope === "Namespaced") === !namespace)
      throw new Error(
        `${this.resource.resource} ${name}: ${namespace ? `not in namespace ${namespace}` : "no namespace"}`,
      );
    return namespace ? `${this.prefix}${namespace}/${name}` : this.prefix + name;
  }

  /** The resource in the group in which the client asks for it: events are in two. */
  resourceOf({ group, resource }: ApiRequest): ResourceName {
    return resource === this.resource.resource ? { group, resource } : this.resource;
  }

  /** The object as of now: at least as new as every write acknowledged before the call. */
  current(key: string, asker: Pick<ApiRequest, "signal">): Soon<StoredObject | undefined> {
    const { follower, cache, store, form } = this.options;
    if (!cache.keepsObjects) return store.get(key, asker.signal).then((entry) => entry && form.of(entry));
    return follower.isCurrent ? cache.get(key) : follower.current(asker.signal).then(() => cache.get(key));
  }

  async create(request: ApiRequest, object: DraftObject, options: WriteOptions): Promise<StoredObject> {
    const { kind, admission } = this.options;
    const call: AdmissionCall = { request, kind, operation: "create", old: undefined, dryRun: options.dryRun };
    const admitted = admission.mutate(call, object);
    if (admitted) await admitted;
    request.trace?.mark("admit");
    const guarded = this.options.guard?.(request, object, undefined);
    if (guarded) await guarded;
    if (!this.options.reserver) return this.#createAdmitted(call, object, options);
    await this.options.follower.current(request.signal);
    return this.#reserving(call, object, undefined, () => this.#createAdmitted(call, object, options));
  }

  async #createAdmitted(call: AdmissionCall, object: DraftObject, options: WriteOptions): Promise<StoredObject> {
    const { kind, strategy, random, admission } = this.options;
    const { generateName } = object.metadata;
    const isLarge = call.request.body?.isLarge ?? false;
    const generates = !object.metadata.name && generateName !== undefined;
    const sentRevision = revisionOf(object.metadata.resourceVersion);
    for (let tries = 1; ; tries++) {
      if (generates) object.metadata.name = generatedName(generateName, random);
      if (isLarge) await turn();
      prepareForCreate(kind, strategy, object, this.#context(call.request));
      applyDefaults(kind, object);
      if (isLarge) await turn();
      const verified = strategy.verify ? await strategy.verify(object as ApiObject) : [];
      this.#refuseInvalid(object, [...verified, ...validateObject(kind, object)]);
      if (isLarge) await turn();
      warnOf(strategy, call, object as ApiObject, undefined);
      call.request.trace?.mark("validate");
      const admitted = admission.validate(call, object as ApiObject);
      if (admitted) await admitted;
      call.request.trace?.mark("admit");
      if (isLarge) await turn();
      const name = object.metadata.name as string;
      const key = this.keyOf(object.metadata.namespace, name);
      // Most names are bounded by their form; those that may be any segment of a path are not.
      if (key.length * 3 > maxKeyBytes) this.#refuseLong(object, key);
      if (sentRevision > 0 && !options.dryRun)
        throw unexpectedError("resourceVersion should not be set on objects to be created");
      try {
        const stored = await this.#put(call.request, key, object, 0, options.dryRun);
        return sentRevision > 0 ? this.options.form.tried(key, object as ApiObject, sentRevision) : stored;
      } catch (error) {
        if (!(error instanceof Conflict)) throw error;
        if (!generates) throw alreadyExists(this.resourceOf(call.request), name);
        if (tries === nameTries) throw noFreeName(this.resource, name);
      }
    }
  }

  /**
   * Changes a stored object: reads it, lets `change` make the new one, checks and writes that. A write of someone else in between
   * means another round, unless `change` insists on a resourceVersion. Answers the stored object, also when nothing changed.
   */
  async update(request: ApiRequest, key: string, change: ObjectUpdate, options: UpdateOptions): Promise<StoredObject> {
    return this.inTurn(key, async (next) => {
      const tip = this.#tips.get(key);
      try {
        return await this.#updateFrom(
          tip?.stored ?? (await this.current(key, request)),
          request,
          change,
          options,
          next,
        );
      } finally {
        await tip?.durable; // no answer, not even a refusal, may rest on what could still be lost
      }
    });
  }

  async #updateFrom(
    found: StoredObject | undefined,
    request: ApiRequest,
    change: ObjectUpdate,
    options: UpdateOptions,
    next: () => void,
  ): Promise<StoredObject> {
    let current = found;
    for (;;) {
      if (!current) throw notFound(this.resourceOf(request), request.name ?? "");
      const isLarge = request.body?.isLarge || current.size > largeBytes;
      const object = await change(current.object, isLarge);
      if (isLarge) await turn();
      const based = object.metadata.resourceVersion;
      const isPatch = request.verb === "patch" && based === undefined;
      if (!isPatch) this.#refuseOutdated(based, current);
      object.metadata.resourceVersion = current.object.metadata.resourceVersion;
      try {
        return await this.#updateOnce(request, object, current, { ...options, isLarge, next });
      } catch (error) {
        if (!(error instanceof Conflict)) throw error;
        current = error.present && this.options.form.of(error.present);
      }
    }
  }

  /** An update without a version, or with 0, is meant for whatever is there, unless the kind forbids that. */
  #refuseOutdated(text: string | undefined, { revision, object: { metadata } }: StoredObject): void {
    if (text === metadata.resourceVersion) return;
    const { strategy, kind } = this.options;
    const based = parseResourceVersion(text);
    if (based === BigInt(revision) || (based === 0n && !strategy.needsResourceVersion)) return;
    const { name = "" } = metadata;
    if (based > 0n) throw modifiedMeanwhile(this.resource, name);
    throw invalidObject({ group: kind.group, kind: kind.plural }, name, [
      { type: "Invalid", field: "metadata.resourceVersion", value: 0, detail: "must be specified for an update" },
    ]);
  }

  /** Throws the store's Conflict if the object has changed since. */
  async #updateOnce(
    request: ApiRequest,
    object: DraftObject,
    current: StoredObject,
    options: UpdateOptions & { readonly isLarge: boolean; readonly next: () => void },
  ): Promise<StoredObject> {
    const { kind, strategy, admission, reserver } = this.options;
    const { dryRun, shownAs, isLarge, next } = options;
    const old = shownAs?.of(current.object) ?? current.object;
    const call: AdmissionCall = { request, kind, operation: "update", old, dryRun };
    const write = async () => {
      await this.#prepareUpdate(call, object, current.object, shownAs, isLarge);
      if (isLarge) await turn();
      if (equal(keepTimes(current.object, object), current.object)) return current;
      if (isDeletable(object) && (strategy.mayGo?.(object as ApiObject) ?? true))
        return this.#remove(request, current, object, dryRun);
      return this.#put(request, current.key, object, current.revision, dryRun, reserver ? undefined : next);
    };
    const shown = shownAs && (shownAs.of(object as ApiObject) as DraftObject);
    await admission.mutate(call, shown ?? object);
    if (shown) shownAs?.apply(shown as ApiObject, object);
    if (isLarge) await turn();
    request.trace?.mark("admit");
    await this.options.guard?.(request, object, current.object);
    return request.subresource === "status" ? write() : this.#reserving(call, object, current.object, write);
  }

  /** Writes an object that holds what it needs, which it keeps if the write succeeds. */
  async #reserving(
    { request, dryRun }: AdmissionCall,
    object: DraftObject,
    old: ApiObject | undefined,
    write: () => Promise<StoredObject>,
  ): Promise<StoredObject> {
    const { reserver, claims } = this.options;
    if (!reserver) return write();
    const reservation =
      claims && !dryRun
        ? await claims.reserve(reserver, object, old, request.signal)
        : reserver.reserve(object, old, { isTrial: dryRun });
    let stored: StoredObject;
    try {
      stored = await write();
    } catch (error) {
      await reservation.release();
      throw error;
    }
    await (dryRun ? reservation.release() : reservation.commit(stored.revision));
    return stored;
  }

  /** Removes the object if it is still at that revision; `last` is what is told of it. Throws the store's Conflict if not. */
  async remove(request: ApiRequest, stored: StoredObject, last: DraftObject, dryRun: boolean): Promise<StoredObject> {
    return this.#remove(request, stored, last, dryRun);
  }

  /** Runs `work` when all earlier work on the same key is done, or has called `next` because others may now go on. */
  async inTurn<T>(key: string, work: (next: () => void) => Promise<T>): Promise<T> {
    const before = this.#turns.get(key);
    const { promise: mine, resolve: next } = Promise.withResolvers<void>();
    this.#turns.set(key, mine);
    try {
      await before;
      return await work(next);
    } finally {
      next();
      if (this.#turns.get(key) === mine) this.#turns.delete(key);
    }
  }

  /**
   * A change that the server itself makes, such as a binding: neither prepared nor checked as a client's would be. `change` may refuse
   * by throwing, and answers undefined to have the object removed.
   */
  async modify(
    request: ApiRequest,
    key: string,
    dryRun: boolean,
    change: (current: ApiObject) => DraftObject | undefined,
  ): Promise<StoredObject> {
    return this.inTurn(key, async () => {
      let current = await this.current(key, request);
      for (;;) {
        if (!current) throw notFound(this.resourceOf(request), request.name ?? "");
        const object = change(current.object);
        if (object && equal(object, current.object)) return current;
        try {
          return await (object
            ? this.#put(request, key, object, current.revision, dryRun)
            : this.#remove(request, current, current.object, dryRun));
        } catch (error) {
          if (!(error instanceof Conflict)) throw error;
          current = error.present && this.options.form.of(error.present);
        }
      }
    });
  }

  /** Writes what a deletion leaves for now. Throws the store's Conflict if the object has changed since. */
  async write(request: ApiRequest, object: DraftObject, based: StoredObject, dryRun: boolean): Promise<StoredObject> {
    return this.#put(request, based.key, object, based.revision, dryRun);
  }

  async #prepareUpdate(
    call: AdmissionCall,
    object: DraftObject,
    old: ApiObject,
    shownAs: AdmissionView | undefined,
    isLarge: boolean,
  ): Promise<void> {
    const { kind, strategy, admission } = this.options;
    const { subresource } = call.request;
    const context = this.#context(call.request);
    const part = subresource === undefined ? undefined : strategy.parts?.[subresource];
    const isStatus = subresource === "status";
    if (isStatus) prepareForStatusUpdate(kind, strategy, object, old, context);
    else if (part) prepareForPartUpdate(strategy, part, object, old, context);
    else prepareForUpdate(kind, strategy, object, old, context);
    if (isLarge) await turn();
    applyDefaults(kind, object);
    if (call.request.verb === "patch") shareUnchanged(object, old);
    if (isLarge) await turn();
    if (isStatus) this.#refuseInvalid(object, validateStatus(kind, object, old));
    else this.#refuseInvalid(object, part?.problems(object as ApiObject, old) ?? validateObject(kind, object, old));
    if (isLarge) await turn();
    warnOf(strategy, call, object as ApiObject, old);
    call.request.trace?.mark("validate");
    await admission.validate(call, shownAs?.of(object as ApiObject) ?? (object as ApiObject));
    call.request.trace?.mark("admit");
  }

  #refuseLong(object: DraftObject, key: string): void {
    const excess = new TextEncoder().encode(key).length - maxKeyBytes;
    const { length } = object.metadata.name ?? "";
    if (excess > 0) this.#refuseInvalid(object, [tooLong("metadata.name", Math.max(0, length - excess))]);
  }

  #refuseInvalid(object: DraftObject, problems: readonly Problem[]): void {
    if (problems.length === 0) return;
    const { kind } = this.options;
    throw invalidObject(kind, object.metadata.name ?? "", shownAsUpstream(kind.struct, problems));
  }

  #context({ user }: ApiRequest): StrategyContext {
    const { clock, random } = this.options;
    return { clock, random, user };
  }

  /** Writes, and calls `next` once another write of the key can build on this one. */
  async #put(
    request: ApiRequest,
    key: string,
    object: DraftObject,
    expected: number,
    dryRun: boolean,
    next?: () => void,
  ): Promise<StoredObject> {
    const { store, form, strategy } = this.options;
    if (dryRun) {
      if (expected === 0 && (await this.current(key, request)))
        throw alreadyExists(this.resourceOf(request), object.metadata.name ?? "");
      return form.tried(key, object as ApiObject, expected);
    }
    // What is being deleted must go also when the store is full: its grace, its finalizers and its last status are writes, too.
    const how = { ttlSeconds: strategy.ttlSeconds, makesRoom: object.metadata.deletionTimestamp !== undefined };
    try {
      const begun = store.begin?.(key, storable(object, form.encodeBriefly(object as ApiObject)), expected, how);
      const stored = begun
        ? form.begun(object as ApiObject, begun.entry)
        : await this.#putWhole(key, object as ApiObject, expected, how);
      if (begun) await (next ? this.#asTip(key, { stored, durable: begun.durable }, next) : begun.durable);
      this.#committed(request, object.metadata.name ?? "", stored.revision);
      return stored;
    } catch (error) {
      return storeError(error);
    }
  }

  async #putWhole(key: string, object: ApiObject, expected: number, how: PutOptions): Promise<StoredObject> {
    const { store, form } = this.options;
    const value = storable(object, form.encode(object));
    return form.written(value, await store.put(key, value, expected, how));
  }

  /** Lets the next write of the key build on this one, which is on its way, until it has arrived. */
  async #asTip(key: string, { stored, durable }: Tip, next: () => void): Promise<void> {
    const tip = { stored, durable: durable.catch(storeError) };
    this.#tips.set(key, tip);
    next();
    try {
      await tip.durable;
    } finally {
      if (this.#tips.get(key) === tip) this.#tips.delete(key);
    }
  }

  async #remove(
    request: ApiRequest,
    stored: StoredObject,
    last: ApiObject | DraftObject,
    dryRun: boolean,
  ): Promise<StoredObject> {
    const { store, form } = this.options;
    if (dryRun) return form.tried(stored.key, last as ApiObject, stored.revision);
    const revision = await store.delete(stored.key, stored.revision).catch(storeError);
    this.#committed(request, last.metadata.name ?? "", revision);
    return form.of({ key: stored.key, value: form.encode(last as ApiObject), created: revision, modified: revision });
  }

  #committed(request: ApiRequest, name: string, revision: Revision): void {
    const { version, namespace, subresource, verb, user, userAgent, because, steps, trace } = request;
    trace?.mark("store");
    this.options.causality.record({
      revision,
      at: this.options.clock.now(),
      address: { group: this.resource.group, resource: this.resource.resource, version, namespace, subresource },
      name,
      verb,
      user,
      userAgent,
      because,
      steps,
      trace,
    });
  }
}

/** Where a kind's objects are kept: `/registry/pods/`, `/registry/apps/deployments/`. */
export const keyPrefix = ({ group, plural }: AnyKind): string =>
  group === "" ? `${registryPrefix}${plural}/` : `${registryPrefix}${group}/${plural}/`;

/** An object that waits for deletion, and whose last finalizer an update has just removed. */
const isDeletable = ({ metadata }: DraftObject): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (metadata.finalizers ?? []).length === 0 &&
  (metadata.deletionGracePeriodSeconds ?? 0) === 0;

function storeError(error: unknown): never {
  if (error instanceof Unavailable || error instanceof OutOfSpace) throw serviceUnavailable(error.message);
  throw error;
}
