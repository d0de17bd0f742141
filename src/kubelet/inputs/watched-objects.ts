// Watches of the config maps and secrets that pods of this node mount: one for each object, for as long as a pod needs it. A kubelet may watch
// no others, and an idle one costs nothing.
// Upstream: pkg/kubelet/util/manager/watch_based_manager.go.
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Secret } from "#api/core/v1/secret.ts";
import type { Component } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import { Informer, type InformerChange, type InformerContext } from "#client/informer.ts";
import { keyOf } from "#client/object-key.ts";
import type { FileReference } from "./references.ts";

const kinds = { ConfigMap, Secret } as const;

interface ObjectWatch {
  readonly informer: Informer<typeof ConfigMap> | Informer<typeof Secret>;
  /** Uids of pods. */
  readonly holders: Set<string>;
  readonly stop: AbortController;
}

const textOf = ({ kind, namespace, name }: FileReference): string => `${kind}/${keyOf({ namespace, name })}`;

export class InputWatches implements Component {
  readonly name = "objects of pods";
  readonly #context: InformerContext;
  readonly #watched = new Map<string, ObjectWatch>();
  readonly #held = new Map<string, readonly string[]>();
  readonly #running = new Set<Promise<void>>();
  /** Called with each pod whose files may have changed. */
  changed: (podUid: string) => void = () => undefined;
  #signal: AbortSignal | undefined;

  constructor(context: InformerContext) {
    this.#context = context;
  }

  /** How many objects are watched. */
  get size(): number {
    return this.#watched.size;
  }

  /** Watches these objects for the pod, and no others. */
  retain(podUid: string, references: readonly FileReference[]): void {
    const before = this.#held.get(podUid) ?? [];
    const wanted = references.map(textOf);
    for (const [i, reference] of references.entries()) this.#watch(wanted[i] ?? "", reference).holders.add(podUid);
    for (const key of before) if (!wanted.includes(key)) this.#drop(key, podUid);
    if (wanted.length > 0) this.#held.set(podUid, wanted);
    else this.#held.delete(podUid);
  }

  release(podUid: string): void {
    for (const key of this.#held.get(podUid) ?? []) this.#drop(key, podUid);
    this.#held.delete(podUid);
  }

  configMap(namespace: string, name: string): Promise<ConfigMap | undefined> {
    return this.#find(ConfigMap, { kind: "ConfigMap", namespace, name });
  }

  secret(namespace: string, name: string): Promise<Secret | undefined> {
    return this.#find(Secret, { kind: "Secret", namespace, name });
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const watched of this.#watched.values()) this.#start(watched);
    try {
      await unlessAborted(new Promise<never>(() => undefined), signal);
    } finally {
      await Promise.all(this.#running);
    }
  }

  /** From memory where it is watched, else from the server. */
  async #find<K extends typeof ConfigMap | typeof Secret>(kind: K, reference: FileReference) {
    const { namespace, name } = reference;
    const watched = this.#watched.get(textOf(reference));
    if (watched?.informer.hasSynced) return (watched.informer as Informer<K>).cache.get({ namespace, name });
    return this.#context.client.find(kind, { namespace, name });
  }

  #watch(key: string, { kind, namespace, name }: FileReference): ObjectWatch {
    const present = this.#watched.get(key);
    if (present) return present;
    const selection = { namespace, fieldSelector: `metadata.name=${name}` };
    const informer =
      kind === "ConfigMap"
        ? new Informer(kinds[kind], { ...this.#context, ...selection })
        : new Informer(kinds[kind], { ...this.#context, ...selection });
    const watch: ObjectWatch = { informer, holders: new Set(), stop: new AbortController() };
    this.#watched.set(key, watch);
    const tell = ({ object }: InformerChange<{ readonly immutable?: boolean | undefined }>) => {
      for (const uid of watch.holders) this.changed(uid);
      if (object?.immutable) watch.stop.abort(new Error("it does not change any more"));
    };
    if (informer.kind === ConfigMap) (informer as Informer<typeof ConfigMap>).onChange(tell);
    else (informer as Informer<typeof Secret>).onChange(tell);
    this.#start(watch);
    return watch;
  }

  #start({ informer, stop }: ObjectWatch): void {
    if (!this.#signal) return;
    const signal = AbortSignal.any([this.#signal, stop.signal]);
    // It only ends when it is told to; what the server refuses is tried again.
    const running = informer.run(signal).catch(() => {
      this.#running.delete(running);
    });
    this.#running.add(running);
  }

  #drop(key: string, podUid: string): void {
    const watched = this.#watched.get(key);
    watched?.holders.delete(podUid);
    if (!watched || watched.holders.size > 0) return;
    watched.stop.abort(new Error("no pod needs it any more"));
    this.#watched.delete(key);
  }
}
