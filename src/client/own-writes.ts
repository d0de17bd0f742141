// Read your writes: a key is not reconciled again before the caches have seen what was written for it. So no controller creates
// a second pod because its cache does not know the first one yet.
import { Heap } from "#base/heap.ts";
import type { AnyKind } from "#schema/kind.ts";
import { type ApiObject, metadataOf } from "#schema/object.ts";
import type { Informer } from "./informer.ts";
import { keyOfObject } from "./object-key.ts";

interface AwaitedWrite {
  /** The newest revision written. */
  revision: number;
  /** Which of the server's histories it belongs to. */
  readonly history: number;
  /** Uids, by key, of objects whose deletion was answered without a revision. */
  readonly gone: Map<string, string>;
}

export class OwnWrites {
  readonly #release: (key: string) => void;
  readonly #pending = new Map<string, Map<Waiting, AwaitedWrite>>();
  readonly #waiting = new Map<Informer<AnyKind>, Waiting>();

  /** `release` is called with each key for which `isSeen` returned false, once its writes have been seen. */
  constructor(release: (key: string) => void) {
    this.#release = release;
  }

  note(key: string, informer: Informer<AnyKind>, object: ApiObject): void {
    const { resourceVersion, uid = "" } = object.metadata;
    const revision = Number(resourceVersion ?? -1);
    if (Number.isNaN(revision)) return; // this server's versions cannot be compared
    const waiting = this.#waitingFor(informer);
    const writes = this.#pending.get(key) ?? new Map<Waiting, AwaitedWrite>();
    this.#pending.set(key, writes);
    const awaited = writes.get(waiting) ?? { revision: -1, history: waiting.history, gone: new Map() };
    writes.set(waiting, awaited);
    if (resourceVersion === undefined) awaited.gone.set(keyOfObject(object), uid);
    else awaited.revision = Math.max(awaited.revision, revision);
  }

  /** Whether all that was written for the key is in the caches. If not, it is released later. */
  isSeen(key: string): boolean {
    const writes = this.#pending.get(key);
    if (!writes) return true;
    for (const [waiting, awaited] of writes) {
      if (waiting.hasSeen(awaited)) writes.delete(waiting);
      else {
        waiting.add(key, awaited);
        return false;
      }
    }
    this.#pending.delete(key);
    return true;
  }

  /** Stops listening to the informers. */
  close(): void {
    for (const waiting of this.#waiting.values()) waiting.close();
  }

  #waitingFor(informer: Informer<AnyKind>): Waiting {
    const present = this.#waiting.get(informer);
    if (present) return present;
    const made = new Waiting(informer, (key) => {
      if (this.isSeen(key)) this.#release(key);
    });
    this.#waiting.set(informer, made);
    return made;
  }
}

/** The keys that wait for one informer, the earliest revision first. */
class Waiting {
  readonly #informer: Informer<AnyKind>;
  readonly #check: (key: string) => void;
  readonly #byRevision = new Heap<{ readonly key: string; readonly revision: number }>(
    (a, b) => a.revision - b.revision,
  );
  readonly #byAbsence = new Set<string>();
  readonly close: () => void;
  #last = -1;
  #history = 0;

  constructor(informer: Informer<AnyKind>, check: (key: string) => void) {
    this.#informer = informer;
    this.#check = check;
    this.close = informer.onProgress(() => this.#moved());
  }

  get history(): number {
    return this.#history;
  }

  hasSeen({ revision, history, gone }: AwaitedWrite): boolean {
    if (history !== this.#history) return true; // the server began anew: what was awaited may never come
    for (const [key, uid] of gone) if (metadataOf(this.#informer.cache.get(key) ?? {}).uid === uid) return false;
    return this.#informer.progress >= revision;
  }

  add(key: string, { revision, gone }: AwaitedWrite): void {
    if (gone.size > 0) this.#byAbsence.add(key);
    else this.#byRevision.push({ key, revision });
  }

  #moved(): void {
    const { progress } = this.#informer;
    const restarted = progress < this.#last;
    if (restarted) this.#history++;
    this.#last = progress;
    const ready: string[] = [...this.#byAbsence];
    this.#byAbsence.clear();
    for (let next = this.#byRevision.peek(); next && (restarted || next.revision <= progress); ) {
      this.#byRevision.pop();
      ready.push(next.key);
      next = this.#byRevision.peek();
    }
    for (const key of ready) this.#check(key);
  }
}
