import type { Component } from "#base/supervise.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { Selection } from "./client.ts";
import { Informer, type InformerContext } from "./informer.ts";

/** The informers of a process: one per kind and selection, however many ask for it. */
export class Informers implements Component {
  readonly name = "informers";
  readonly #context: InformerContext;
  readonly #informers = new Map<string, Informer<AnyKind>>();
  /** Those without a selection: nearly all, and asked for all the time. */
  readonly #whole = new Map<AnyKind, Informer<AnyKind>>();
  readonly #running = new Set<Promise<void>>();
  #start: ((informer: Informer<AnyKind>) => void) | undefined;

  constructor(context: InformerContext) {
    this.#context = context;
  }

  /** The informer of a kind. One that is asked for while the others run is started at once. */
  of<K extends AnyKind>(kind: K, selection?: Selection): Informer<K> {
    if (selection) return this.#selected(kind, selection);
    const known = (this.#whole.get(kind) as Informer<K> | undefined) ?? this.#selected(kind, {});
    this.#whole.set(kind, known as Informer<AnyKind>);
    return known;
  }

  #selected<K extends AnyKind>(kind: K, selection: Selection): Informer<K> {
    const { namespace = "", labelSelector = "", fieldSelector = "" } = selection;
    const key = [kind.apiVersion, kind.plural, namespace, labelSelector, fieldSelector].join("\n");
    const present = this.#informers.get(key);
    if (present) return present as Informer<K>; // the key says which kind it is of
    const informer = new Informer(kind, { ...this.#context, ...selection });
    this.#informers.set(key, informer as Informer<AnyKind>);
    this.#start?.(informer as Informer<AnyKind>);
    return informer;
  }

  /** Whether every informer asked for so far has filled its cache. */
  get hasSynced(): boolean {
    return [...this.#informers.values()].every(({ hasSynced }) => hasSynced);
  }

  async run(signal: AbortSignal): Promise<void> {
    const failed = Promise.withResolvers<never>();
    this.#start = (informer) => {
      const running = informer.run(signal).catch((error) => {
        failed.reject(error); // aborted, or a bug: a failing server ends no informer
      });
      this.#running.add(running);
    };
    for (const informer of this.#informers.values()) this.#start(informer);
    const abort = () => failed.reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      await failed.promise;
    } finally {
      this.#start = undefined;
      signal.removeEventListener("abort", abort);
      await Promise.all(this.#running);
    }
  }
}
