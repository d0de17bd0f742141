// The objects of one stored resource, in all its versions: `objects` reads them, the methods here write them. What a write goes through
// is in write-steps.ts, how writers of one object wait for each other in key-turns.ts.
import { equal } from "#base/collections.ts";
import type { Soon } from "#base/soon.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { Conflict, OutOfSpace, type Revision, TransformError, Unavailable } from "#store/engine.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import {
  alreadyExists,
  forbidden,
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
import { keyPrefix } from "../store-follower.ts";
import type { StoredObject } from "../stored.ts";
import { fromStored } from "../versions.ts";
import type { AdmissionCall } from "./admission.ts";
import { type KeyTurn, KeyTurns } from "./key-turns.ts";
import { ObjectReader, type ObjectReaderOptions } from "./object-reader.ts";
import { storable } from "./object-size.ts";
import type { WriteOptions } from "./options.ts";
import { parseResourceVersion, revisionOf } from "./resource-version.ts";
import type { Strategy } from "./strategy.ts";
import { type AdmissionView, type ObjectWrite, WriteSteps, type WriteStepsOptions } from "./write-steps.ts";

export interface RegistryOptions extends ObjectReaderOptions, Omit<WriteStepsOptions, "caughtUp"> {
  readonly causality: Causality;
  /** What is stored, where objects are written in another version, which is `kind`. */
  readonly storedKind?: AnyKind;
  /** Those of another registry of the same objects. */
  readonly turns?: KeyTurns;
  /** Which objects only those see who ask for them: such as wait for initializers. Without it there are none. */
  readonly hides?: ((object: ApiObject) => boolean) | undefined;
}

/**
 * Makes the object to store from the one that is stored. Called again when another write came between. What is large is to be worked
 * on in several turns of the event loop.
 */
export type ObjectUpdate = (current: ApiObject, isLarge: boolean) => Soon<DraftObject>;

export interface UpdateOptions extends WriteOptions {
  /** Defaults to the object itself. */
  readonly shownAs?: AdmissionView;
}

/** How a write changes what is stored. */
interface Commit {
  readonly request: ApiRequest;
  readonly key: string;
  readonly object: DraftObject;
  /** The revision that the key must be at; 0 if it must not be there. */
  readonly expected: Revision;
  readonly dryRun: boolean;
  /** Handed over once another write of the key can build on this one. */
  readonly keyTurn?: KeyTurn | undefined;
}

const nameTries = 8;

export class Registry {
  /** In this version objects are written: the one that is stored, unless versions are peers (`inVersion`). */
  readonly kind: AnyKind;
  readonly strategy: Strategy;
  /** As they are stored. */
  readonly objects: ObjectReader;
  /** How this resource is called in refusals. */
  readonly resource: ResourceName;
  /** Keys of all objects start with this. */
  readonly prefix: string;
  /** Whether an object is hidden from clients that do not ask for uninitialized objects. */
  readonly hides: RegistryOptions["hides"];
  readonly #options: RegistryOptions;
  readonly #steps: WriteSteps;
  readonly #turns: KeyTurns;

  constructor(options: RegistryOptions) {
    const { kind, strategy } = options;
    this.kind = kind;
    this.strategy = strategy;
    this.objects = new ObjectReader(options);
    this.resource = { group: kind.group, resource: kind.plural };
    this.prefix = keyPrefix(kind);
    this.hides = options.hides;
    this.#options = options;
    this.#turns = options.turns ?? new KeyTurns();
    this.#steps = new WriteSteps({ ...options, caughtUp: (signal) => this.objects.caughtUp(signal) });
  }

  /** The same objects, written in another version by its own rules. */
  inVersion(kind: AnyKind, strategy: Strategy): Registry {
    return new Registry({ ...this.#options, kind, strategy, storedKind: this.#storedKind, turns: this.#turns });
  }

  get #storedKind(): AnyKind {
    return this.#options.storedKind ?? this.kind;
  }

  /** Throws unless the namespace is there exactly where the kind has one: whoever asks was authorized for that very place. */
  keyOf(namespace: string | undefined, name: string): string {
    if ((this.kind.scope === "Namespaced") === !namespace)
      throw new Error(
        `${this.resource.resource} ${name}: ${namespace ? `not in namespace ${namespace}` : "no namespace"}`,
      );
    return namespace ? `${this.prefix}${namespace}/${name}` : this.prefix + name;
  }

  /** Keys of all objects in a namespace start with this; without one, those of all objects. */
  prefixOf(namespace: string | undefined): string {
    return namespace === undefined ? this.prefix : `${this.prefix}${namespace}/`;
  }

  /** The resource in the group in which the client asks for it: events are in two. */
  resourceOf({ group, resource }: ApiRequest): ResourceName {
    return resource === this.resource.resource ? { group, resource } : this.resource;
  }

  /** The time that is noted in objects. */
  now(): number {
    return this.#options.clock.now();
  }

  /** Aborts with `signal`, and after so many seconds. */
  signalFor(seconds: number, signal: AbortSignal): AbortSignal {
    const ended = new AbortController();
    const cancel = this.#options.clock.after(seconds * 1000, () =>
      ended.abort(new Error("the time asked for is over")),
    );
    signal.addEventListener("abort", cancel, { once: true });
    return AbortSignal.any([signal, ended.signal]);
  }

  /** The attributes of a request for admission. */
  admissionCall(
    request: ApiRequest,
    operation: AdmissionCall["operation"],
    dryRun: boolean,
    old?: ApiObject,
  ): AdmissionCall {
    return { request, kind: this.#storedKind, operation, old, dryRun };
  }

  /** Admission of what passes no write steps: a deletion, which has no object, and what is sent to a subresource such as a binding. */
  mutate(call: AdmissionCall, object: DraftObject | undefined): Promise<void> | undefined {
    return this.#options.admission.mutate(call, object);
  }
  validate(call: AdmissionCall, object: ApiObject | undefined): Promise<void> | undefined {
    return this.#options.admission.validate(call, object);
  }

  async create(request: ApiRequest, object: DraftObject, { dryRun }: WriteOptions): Promise<StoredObject> {
    const refusal = this.strategy.refusesNew?.();
    if (refusal !== undefined) throw forbidden(this.resourceOf(request), object.metadata.name ?? "", refusal);
    if (!this.hides) dropInitializers(object);
    const call = this.admissionCall(request, "create", dryRun);
    const write: ObjectWrite = { call, object, old: undefined, isLarge: request.body?.isLarge ?? false };
    return this.#steps.admitted(write, () => this.#createNamed(write));
  }

  /** Where the client leaves the name to us, another is tried if one is taken. */
  async #createNamed(write: ObjectWrite): Promise<StoredObject> {
    const { object } = write;
    const { request, dryRun } = write.call;
    const { generateName } = object.metadata;
    const generates = !object.metadata.name && generateName !== undefined;
    const sentRevision = revisionOf(object.metadata.resourceVersion);
    for (let tries = 1; ; tries++) {
      if (generates) object.metadata.name = this.#steps.generatedName(generateName);
      await this.#steps.checked(write);
      const name = object.metadata.name as string;
      const key = this.keyOf(object.metadata.namespace, name);
      this.#steps.refuseLongKey(object, key);
      if (sentRevision > 0 && !dryRun)
        throw unexpectedError("resourceVersion should not be set on objects to be created");
      try {
        const stored = await this.#put({ request, key, object, expected: 0, dryRun });
        return sentRevision > 0 ? this.#options.form.shown(key, stored.object, sentRevision) : stored;
      } catch (error) {
        if (!(error instanceof Conflict)) throw error;
        if (!generates) throw alreadyExists(this.resourceOf(request), name);
        if (tries === nameTries) throw noFreeName(this.resource, name);
      }
    }
  }

  /**
   * Changes a stored object: reads it, lets `change` make the new one, checks and writes that. A write of someone else in between
   * means another round, unless `change` insists on a resourceVersion. Answers the stored object, also when nothing changed.
   */
  update(request: ApiRequest, key: string, change: ObjectUpdate, options: UpdateOptions): Promise<StoredObject> {
    const { dryRun, shownAs } = options;
    return this.#turns.run(key, async (keyTurn) => {
      const { tip } = keyTurn;
      try {
        const newest = tip?.stored ?? (await this.objects.current(key, request));
        return await this.#untilWritten(request, newest, async (current) => {
          const isLarge = request.body?.isLarge || current.size > largeBytes;
          const live = await fromStored(this.kind, current.object);
          const object = await change(live, isLarge);
          if (!this.hides) dropInitializers(object);
          const based = object.metadata.resourceVersion;
          const isPatch = request.verb === "patch" && based === undefined;
          if (!isPatch) this.#refuseOutdated(based, current);
          object.metadata.resourceVersion = current.object.metadata.resourceVersion;
          const call = this.admissionCall(request, "update", dryRun, shownAs?.of(live) ?? live);
          const write = { call, object, old: live, shownAs, isLarge };
          return this.#steps.admitted(write, () => this.#updateOnce(write, live, current, keyTurn));
        });
      } finally {
        await tip?.durable; // see key-turns.ts: no answer may rest on what could still be lost
      }
    });
  }

  async #updateOnce(
    write: ObjectWrite,
    live: ApiObject,
    current: StoredObject,
    keyTurn: KeyTurn,
  ): Promise<StoredObject> {
    const { strategy, reserver } = this.#options;
    const { object } = write;
    const { request, dryRun } = write.call;
    await this.#steps.checked(write);
    // What was stored in a former version or with a former key is written anew though nothing in it has changed, to bring it up to date.
    const changesNothing = !this.#steps.changes(live, object) && !current.isOfFormerVersion;
    if (changesNothing && !(await this.#isStale(current, dryRun))) return current;
    if (this.hides && this.#steps.hasFailed(object)) return this.#removeFailed(write, current);
    if (isDeletable(object) && (strategy.mayGo?.(object as ApiObject) ?? true))
      return this.remove(request, current, object, dryRun);
    const { key, revision } = current;
    // What is reserved is settled only when the write is durable: until then no other write may build on it.
    return this.#put({ request, key, object, expected: revision, dryRun, keyTurn: reserver ? undefined : keyTurn });
  }

  /** The result is written first, so that watchers find it in the deletion event. */
  async #removeFailed(
    { object, call: { request, dryRun } }: ObjectWrite,
    current: StoredObject,
  ): Promise<StoredObject> {
    const failed = await this.replace(request, current, object, dryRun);
    return this.remove(request, failed, failed.object, dryRun);
  }

  /** An update without a version, or with 0, is meant for whatever is there, unless the kind forbids that. */
  #refuseOutdated(text: string | undefined, { revision, object: { metadata } }: StoredObject): void {
    if (text === metadata.resourceVersion) return;
    const based = parseResourceVersion(text);
    if (based === BigInt(revision) || (based === 0n && !this.strategy.needsResourceVersion)) return;
    const { name = "" } = metadata;
    if (based > 0n) throw modifiedMeanwhile(this.resource, name);
    throw invalidObject({ group: this.kind.group, kind: this.kind.plural }, name, [
      { type: "Invalid", field: "metadata.resourceVersion", value: 0, detail: "must be specified for an update" },
    ]);
  }

  /**
   * Runs `attempt` with the object as it is now, alone among the writers of its key, and again with a newer one if the attempt fails with
   * the store's Conflict. Throws ApiError 404 if there is no such object.
   */
  onCurrent<T>(request: ApiRequest, key: string, attempt: (current: StoredObject) => Promise<T>): Promise<T> {
    return this.#turns.run(key, async () =>
      this.#untilWritten(request, await this.objects.current(key, request), attempt),
    );
  }

  async #untilWritten<T>(
    request: ApiRequest,
    newest: StoredObject | undefined,
    attempt: (current: StoredObject) => Promise<T>,
  ): Promise<T> {
    for (let current = newest; ; ) {
      if (!current) throw notFound(this.resourceOf(request), request.name ?? "");
      try {
        return await attempt(current);
      } catch (error) {
        if (!(error instanceof Conflict)) throw error;
        if (error.present?.unreadable) storeError(error.present.unreadable);
        current = error.present && this.#options.form.of(error.present);
      }
    }
  }

  /**
   * A change that the server itself makes, such as a binding: neither prepared nor checked as a client's would be. `change` may refuse
   * by throwing, and answers undefined to have the object removed.
   */
  modify(
    request: ApiRequest,
    key: string,
    dryRun: boolean,
    change: (current: ApiObject) => DraftObject | undefined,
  ): Promise<StoredObject> {
    return this.onCurrent(request, key, async (current) => {
      const object = change(current.object);
      if (!object) return this.remove(request, current, current.object, dryRun);
      if (equal(object, current.object) && !(await this.#isStale(current, dryRun))) return current;
      return this.replace(request, current, object, dryRun);
    });
  }

  /** Whether an update that changes nothing must be written all the same, so that a new key of encryption replaces an old one. */
  async #isStale({ key }: StoredObject, dryRun: boolean): Promise<boolean> {
    const { store } = this.#options;
    return !dryRun && store.isStale !== undefined && (await store.isStale(key).catch(storeError));
  }

  /** Writes an object as it is in the place of the stored one. Throws the store's Conflict if that has changed since. */
  replace(request: ApiRequest, current: StoredObject, object: DraftObject, dryRun: boolean): Promise<StoredObject> {
    return this.#put({ request, key: current.key, object, expected: current.revision, dryRun });
  }

  /** Removes the stored object; `last` is the object of the deletion event. Throws the store's Conflict if it has changed since. */
  async remove(
    request: ApiRequest,
    stored: StoredObject,
    last: ApiObject | DraftObject,
    dryRun: boolean,
  ): Promise<StoredObject> {
    const { store, form } = this.#options;
    const shown = await this.#asStored(last);
    if (dryRun) return form.shown(stored.key, shown as ApiObject, stored.revision);
    refuseExpired(request);
    const revision = await store.delete(stored.key, stored.revision).catch(storeError);
    this.#committed(request, last.metadata.name ?? "", revision);
    return form.shown(stored.key, shown as ApiObject, revision);
  }

  #asStored(object: ApiObject | DraftObject): Soon<DraftObject> {
    const kind = this.#storedKind;
    return (kind.peers ? fromStored(kind, object as ApiObject) : object) as Soon<DraftObject>;
  }

  async #put({ request, key, object: written, expected, dryRun, keyTurn }: Commit): Promise<StoredObject> {
    const { store, form, strategy } = this.#options;
    const { name = "" } = written.metadata;
    const converting = this.#asStored(written);
    const object = converting instanceof Promise ? await converting : converting;
    if (dryRun) {
      if (expected === 0 && (await this.objects.current(key, request)))
        throw alreadyExists(this.resourceOf(request), name);
      return form.shown(key, object as ApiObject, expected);
    }
    refuseExpired(request);
    // What is being deleted must go also when the store is full: its grace, its finalizers and its last status are writes, too.
    const how = { ttlSeconds: strategy.ttlSeconds, makesRoom: object.metadata.deletionTimestamp !== undefined };
    try {
      const begun = store.begin?.(key, storable(object, form.encodeBriefly(object as ApiObject)), expected, how);
      const entry =
        begun?.entry ?? (await store.put(key, storable(object, form.encode(object as ApiObject)), expected, how));
      const stored = form.written(object as ApiObject, entry);
      const durable = begun?.durable;
      if (durable) await (keyTurn ? keyTurn.handOver({ stored, durable: durable.catch(storeError) }) : durable);
      this.#committed(request, name, stored.revision);
      return stored;
    } catch (error) {
      return storeError(error);
    }
  }

  #committed(request: ApiRequest, name: string, revision: Revision): void {
    const { version, namespace, subresource, verb, user, userAgent, because, steps, trace } = request;
    trace?.mark("store");
    this.#options.causality.record({
      revision,
      at: this.now(),
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

/** Where there are no initializers, nobody may ask for any. */
function dropInitializers({ metadata }: DraftObject): void {
  if (metadata.initializers !== undefined) delete metadata.initializers;
}

/** An object that waits for deletion, and whose last finalizer an update has just removed. */
const isDeletable = ({ metadata }: DraftObject): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (metadata.finalizers ?? []).length === 0 &&
  (metadata.deletionGracePeriodSeconds ?? 0) === 0;

function storeError(error: unknown): never {
  if (error instanceof Unavailable || error instanceof OutOfSpace) throw serviceUnavailable(error.message);
  if (error instanceof TransformError) throw unexpectedError(error.message);
  throw error;
}

/** Its client has been told that nothing came of it, and may have tried again since. */
function refuseExpired({ expired }: ApiRequest): void {
  const reason = expired?.();
  if (reason) throw reason;
}
