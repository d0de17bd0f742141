import type { Component } from "#base/supervise.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { Selection } from "./client.ts";
import { Informer, type InformerContext } from "./informer.ts";

/** The informers of a process: one per kind and selection, however many ask for it. */
export class Informers implements Component {
  readonly name = "informers";
  readonly #context: InformerContext;
  readonly #informers = new Map<string, Informer<AnyKind>>();
  /** Informers without a selection, which nearly all are. Looked up often, so they have a map of their own. */
  readonly #whole = new WeakMap<AnyKind, Informer<AnyKind>>();
  /** What stops each informer that runs. */
  readonly #stops = new Map<Informer<AnyKind>, AbortController>();
  readonly #running = new Set<Promise<void>>();
  /** Those that some part cannot do without. */
  readonly #needed = new Set<Informer<AnyKind>>();
  #start: ((informer: Informer<AnyKind>) => void) | undefined;

  constructor(context: InformerContext) {
    this.#context = context;
  }

  /** The informer of a kind. One that is created while the others run is started at once. */
  of<K extends AnyKind>(kind: K, selection?: Selection): Informer<K> {
    if (selection) return this.#selected(kind, selection);
    const whole = this.#whole.get(kind) as Informer<K> | undefined;
    if (whole && !whole.isDropped) return whole;
    const informer = this.#selected(kind, {});
    this.#whole.set(kind, informer as Informer<AnyKind>);
    return informer;
  }

  /**
   * The same for those who follow whatever is served, as the garbage collector does, and who can do without a kind: one whose objects
   * cannot be listed is no reason to call the process unhealthy, unless another part needs it.
   */
  optional<K extends AnyKind>(kind: K): Informer<K> {
    return this.#find(kind, {});
  }

  #selected<K extends AnyKind>(kind: K, selection: Selection): Informer<K> {
    const informer = this.#find(kind, selection);
    this.#needed.add(informer as Informer<AnyKind>);
    return informer;
  }

  #find<K extends AnyKind>(kind: K, selection: Selection): Informer<K> {
    const { namespace = "", labelSelector = "", fieldSelector = "" } = selection;
    const key = [kind.apiVersion, kind.plural, namespace, labelSelector, fieldSelector].join("\n");
    const present = this.#informers.get(key);
    if (present) return present as Informer<K>; // the key says which kind it is of
    const informer = new Informer(kind, { ...this.#context, ...selection });
    this.#informers.set(key, informer as Informer<AnyKind>);
    this.#start?.(informer as Informer<AnyKind>);
    return informer;
  }

  /**
   * Stops all informers of a kind that is no longer served, whatever they select. Their caches are emptied, their handlers are not called
   * any more, and `synced` rejects. The next request for the kind makes a new informer.
   */
  drop(kind: AnyKind): void {
    this.#dropThose(kind, () => true);
  }

  /** The same, but for informers that someone still follows: for those who share a kind with parts they do not know of. */
  dropUnwatched(kind: AnyKind): void {
    this.#dropThose(kind, ({ isWatched }) => !isWatched);
  }

  #dropThose({ apiVersion, plural }: AnyKind, isMeant: (informer: Informer<AnyKind>) => boolean): void {
    for (const [key, informer] of this.#informers) {
      if (informer.kind.apiVersion !== apiVersion || informer.kind.plural !== plural || !isMeant(informer)) continue;
      const reason = new Error(`the ${informer.name} was dropped`);
      this.#informers.delete(key);
      this.#needed.delete(informer);
      informer.drop(reason);
      this.#stops.get(informer)?.abort(reason);
    }
  }

  /** Whether every informer that some part needs has filled its cache. */
  get hasSynced(): boolean {
    return [...this.#needed].every(({ hasSynced }) => hasSynced);
  }

  async run(signal: AbortSignal): Promise<void> {
    const failed = Promise.withResolvers<never>();
    this.#start = (informer) => {
      const running: Promise<void> = this.#run(informer)
        .catch((error) => failed.reject(error))
        .finally(() => this.#running.delete(running));
      this.#running.add(running);
    };
    for (const informer of this.#informers.values()) this.#start(informer);
    const abort = () => failed.reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      await failed.promise;
    } catch (error) {
      for (const stop of this.#stops.values()) stop.abort(error);
      throw error;
    } finally {
      this.#start = undefined;
      signal.removeEventListener("abort", abort);
      await Promise.all(this.#running);
    }
  }

  /** Resolves once the informer was dropped. Rejects when all are stopped, or for a bug: a failing server ends no informer. */
  async #run(informer: Informer<AnyKind>): Promise<void> {
    const stop = new AbortController();
    this.#stops.set(informer, stop);
    try {
      await informer.run(stop.signal);
    } catch (error) {
      if (!informer.isDropped || error !== stop.signal.reason) throw error;
    } finally {
      this.#stops.delete(informer);
    }
  }
}
