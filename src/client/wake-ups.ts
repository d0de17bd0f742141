// Turns changes of objects into keys of a controller's queue. Nothing else happens when something changes.
import { controllerOf } from "#rules/owners.ts";
import { groupOf } from "#schema/api-version.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import type { CacheView, Controller, Watching } from "./controller.ts";
import type { InformerChange } from "./informer.ts";
import type { Informers } from "./informers.ts";
import { keyOf } from "./object-key.ts";

export interface WakeTarget {
  /** Reconciles the key at once. */
  add(key: string): void;
  /** Reconciles the key together with other changes, a little later. */
  addLater(key: string): void;
  /** Notes what woke the key, before it is added. */
  note(key: string, kind: AnyKind, object: unknown): void;
}

export class WakeUps {
  readonly #controller: Controller<AnyKind>;
  readonly #informers: Informers;
  readonly #cache: CacheView;
  readonly #target: WakeTarget;

  constructor(controller: Controller<AnyKind>, informers: Informers, cache: CacheView, target: WakeTarget) {
    this.#controller = controller;
    this.#informers = informers;
    this.#cache = cache;
    this.#target = target;
  }

  /** Listens to all informers of the controller. Returns how to stop. */
  listen(): readonly (() => void)[] {
    const { for: subject, owns = [], watches = [] } = this.#controller;
    return [
      this.#informers.of(subject).onChange(({ key, old, object }) => {
        if (!this.#concerns(old) && !this.#concerns(object)) return;
        if (asksTheSame(old, object)) this.#target.addLater(key);
        else this.#target.add(key);
      }),
      ...owns.map((kind) => this.#informers.of(kind).onChange((change) => this.#wakeOwner(kind, change))),
      ...watches.map((watch) => this.#informers.of(watch.kind).onChange((change) => this.#wakeWatchers(watch, change))),
    ];
  }

  #concerns(object: Infer<AnyKind> | undefined): boolean {
    return object !== undefined && (this.#controller.concerns?.(object, this.#cache) ?? true);
  }

  #wakeOwner(kind: AnyKind, change: InformerChange<unknown>): void {
    const { for: subject } = this.#controller;
    for (const state of [change.old, change.object]) {
      const reference = controllerOf(state ?? {});
      if (reference?.kind !== subject.kind || groupOf(reference.apiVersion) !== subject.group) continue;
      const namespace = subject.scope === "Namespaced" ? metadataOf(state).namespace : undefined;
      this.#wake(keyOf({ namespace, name: reference.name }), kind, change);
    }
  }

  #wakeWatchers({ kind, wakes, matters, exceptNew }: Watching, change: InformerChange<unknown>): void {
    const { old, object } = change;
    if (exceptNew && old === undefined) return;
    if (old !== undefined && object !== undefined && matters?.(old, object) === false) return;
    for (const state of [old, object])
      if (state !== undefined) for (const place of wakes(state, this.#cache)) this.#wake(keyOf(place), kind, change);
  }

  #wake(key: string, kind: AnyKind, { old, object }: InformerChange<unknown>): void {
    this.#target.note(key, kind, object ?? old);
    this.#target.addLater(key);
  }
}

/** Whether only the status of an object has changed, or something of no account. */
function asksTheSame(old: unknown, object: unknown): boolean {
  if (old === undefined || object === undefined) return false;
  const [before, after] = [metadataOf(old), metadataOf(object)];
  return before.generation === after.generation && before.deletionTimestamp === after.deletionTimestamp;
}
