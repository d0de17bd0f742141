// The pods of one node or of many: a worker for each pod, one timer queue and two worker pools for all of them, which sync pods and write
// their statuses. Watch callbacks only queue pods.
import type { Pod } from "#api/core/v1/pod.ts";
import { aborted } from "#base/aborted.ts";
import { breathe, turn } from "#base/breathe.ts";
import { explain } from "#base/errors.ts";
import { retry } from "#base/retry.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { TimerQueue } from "#base/timer-queue.ts";
import type { InformerChange } from "#client/informer.ts";
import { keyOfObject } from "#client/object-key.ts";
import { hasEnded } from "#rules/pods.ts";
import { outOfPrefix } from "./node/admit.ts";
import type { ResizeProgress } from "./pod/resize.ts";
import type { Termination } from "./pod/view.ts";
import { PodWorker } from "./pod-worker.ts";
import type { PodNode, PodsContext, PodsOptions } from "./pods-context.ts";
import { Semaphore } from "./semaphore.ts";
import { removeMirror, writeMirror } from "./static-pods/mirror.ts";
import { isStatic, mirroredHash } from "./static-pods/static-pod.ts";
import { writeStatus } from "./status-writer.ts";
import { WorkerPool } from "./worker-pool.ts";

const syncWorkers = 16;
const statusWorkers = 64;
/** Back-off for the removal of orphans. */
const orphanRetry = { firstMs: 1_000, maxMs: 60_000 };
const retryMs = 1000;
/** A sandbox that takes longer is stuck, and no longer counts against the limit. */
const maxStartMs = 5000;

export class Pods implements Component {
  readonly name = "pods";
  readonly #options: PodsOptions;
  readonly #context: PodsContext;
  /** By uid: a pod may be made again under its name while the one before still ends. */
  readonly #workers = new Map<string, PodWorker>();
  readonly #byNode = new Map<string, Set<PodWorker>>();
  readonly #syncWorkers: WorkerPool<PodWorker>;
  readonly #statusWorkers: WorkerPool<PodWorker>;
  readonly #timers: TimerQueue<PodWorker>;
  /** Workers whose status is to be written in the next turn of the event loop, so that changes within one turn make one write. */
  readonly #statusQueue = new Set<PodWorker>();

  constructor(options: PodsOptions) {
    this.#options = options;
    const { clock, maxConcurrentStarts = Number.POSITIVE_INFINITY } = options;
    const timers = new TimerQueue<PodWorker>(clock, (worker) => this.#syncWorkers.add(worker));
    this.#timers = timers;
    this.#context = {
      ...options,
      hostResources: options.hostResources ?? [],
      hasReleasable: options.hostResources?.some(({ release }) => release) ?? false,
      timers,
      starts: new Semaphore({ count: maxConcurrentStarts, maxHoldMs: maxStartMs, clock }),
      resizeRefusal: (worker) => this.#resizeRefusal(worker),
      wake: (worker) => this.#syncWorkers.add(worker, "first"),
      retryLater: (worker) => timers.set(worker, retryMs),
    };
    for (const resource of this.#context.hostResources) resource.onHealthChange?.((uid) => this.wake(uid));
    this.#syncWorkers = new WorkerPool({
      name: "pod workers",
      count: syncWorkers,
      work: (worker, signal) => this.#sync(worker, signal),
    });
    this.#statusWorkers = new WorkerPool({
      name: "pod statuses",
      count: statusWorkers,
      work: (worker, signal) => this.#writeStatus(worker, signal),
    });
  }

  get size(): number {
    return this.#workers.size;
  }

  workerOf(uid: string): PodWorker | undefined {
    return this.#workers.get(uid);
  }

  /** The workers of a node's pods. */
  workersOn(node: string): Iterable<PodWorker> {
    return this.#byNode.get(node) ?? [];
  }

  /** Syncs all pods of a node. */
  wakeNode(node: string): void {
    for (const worker of this.workersOn(node)) this.#syncWorkers.add(worker);
  }

  /** Syncs a pod. */
  wake(uid: string): void {
    const worker = this.#workers.get(uid);
    if (worker) this.#syncWorkers.add(worker, "first");
  }

  /** Ends the back-off of a pod whose host resources could not be prepared, since what was missing is there. */
  retry(uid: string): void {
    const worker = this.#workers.get(uid);
    if (worker?.skipBackoff()) this.#syncWorkers.add(worker, "first");
  }

  /** Terminates a pod for a reason of the node's own. */
  evict(uid: string, termination: Termination): void {
    const worker = this.#workers.get(uid);
    if (!worker || worker.isTerminating) return;
    this.#options.event(worker.pod, "Warning", termination.reason, termination.message);
    worker.terminate(termination);
    this.wake(uid);
  }

  /** Sets the static pods of the node. */
  setStatic(pods: readonly Pod[]): void {
    const wanted = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const worker of this.#workers.values())
      if (isStatic(worker.pod) && !wanted.has(worker.uid)) {
        worker.isDeleted = true;
        this.#syncWorkers.add(worker);
      }
    for (const pod of pods) {
      if (this.#workers.has(pod.metadata.uid)) continue;
      const mirror = this.#mirrorOf(pod);
      const isKnown = mirror && mirroredHash(mirror) === pod.metadata.uid;
      this.#addWorker(isKnown ? { ...pod, status: mirror.status } : pod, pod.spec.nodeName ?? "");
    }
  }

  /** The pod in the API with the name of a static pod. */
  #mirrorOf({ metadata: { namespace, name } }: Pod): Pod | undefined {
    return this.#options.informer.cache.get({ namespace, name });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { informer } = this.#options;
    const stopListening = informer.onChange((change) => this.#onPodChange(change));
    const parts: Component[] = [
      this.#syncWorkers,
      this.#statusWorkers,
      { name: "runtime changes", run: (stop) => this.#followRuntime(stop) },
      { name: "leftovers", run: (stop) => this.#removeOrphansOnce(stop) },
    ];
    try {
      await supervise(parts, signal);
    } finally {
      stopListening();
      this.#timers.stop();
      for (const worker of this.#workers.values()) worker.abort(signal.reason);
    }
  }

  #onPodChange({ old, object }: InformerChange<Pod>): void {
    if (old && object?.metadata.uid !== old.metadata.uid) this.#onPodDeleted(old);
    const seen = object ?? old;
    const mirrored = seen && mirroredHash(seen);
    if (mirrored !== undefined) {
      this.wake(mirrored);
      return;
    }
    const node = object?.spec.nodeName;
    if (!object || !node || !this.#options.nodeOf(node)) return;
    const uid = object.metadata.uid ?? "";
    const worker = this.#workers.get(uid);
    if (worker) {
      if (worker.updatePod(object)) this.#syncWorkers.add(worker);
    } else this.#addWorker(object, node);
  }

  #addWorker(pod: Pod, node: string): void {
    const worker = new PodWorker(pod, this.#context);
    this.#workers.set(worker.uid, worker);
    let workers = this.#byNode.get(node);
    if (!workers) {
      workers = new Set();
      this.#byNode.set(node, workers);
    }
    workers.add(worker);
    this.#syncWorkers.add(worker);
  }

  #onPodDeleted(pod: Pod): void {
    const worker = this.#workers.get(pod.metadata.uid ?? "");
    if (!worker) return;
    worker.isDeleted = true;
    worker.updatePod(pod);
    this.#syncWorkers.add(worker);
  }

  /** Removes what is left of pods that were deleted while no kubelet ran. */
  async #removeOrphansOnce(signal: AbortSignal): Promise<void> {
    const { informer, clock } = this.#options;
    await informer.synced(signal);
    await retry(() => this.#removeOrphans(signal), { ...orphanRetry, clock }, signal);
    await aborted(signal);
  }

  /** Goes on with the others if one cannot be removed, and rejects at the end. */
  async #removeOrphans(signal: AbortSignal): Promise<void> {
    const { informer, runtime, log } = this.#options;
    const failures: unknown[] = [];
    const attempt = async (what: string, work: () => Promise<void>) => {
      try {
        await work();
      } catch (error) {
        signal.throwIfAborted();
        log.warn(`${what} could not be cleared; trying again`, { error: explain(error) });
        failures.push(error);
      }
    };
    await attempt("pods that the API no longer has", async () => {
      for (const uid of await runtime.pods(signal)) {
        if (this.#workers.has(uid)) continue;
        log.info("a pod is cleared that the API no longer has", { uid });
        await attempt(`pod ${uid}`, () => this.#removeOrphan(uid, signal));
      }
    });
    for (const pod of informer.cache.list()) {
      const hash = mirroredHash(pod);
      if (hash !== undefined && !this.#workers.has(hash))
        await attempt(`mirror pod ${pod.metadata.name}`, () => this.#removeMirror(pod, signal));
    }
    for (const resource of this.#context.hostResources.toReversed())
      await attempt("what pods stood on", async () => {
        for (const uid of await resource.pods(signal))
          if (!this.#workers.has(uid)) await attempt(`what pod ${uid} stood on`, () => resource.remove(uid, signal));
      });
    if (failures.length > 0) throw failures[0];
  }

  async #removeOrphan(uid: string, signal: AbortSignal): Promise<void> {
    const { runtime } = this.#options;
    const { containers, sandboxes } = await runtime.observe(uid, signal);
    for (const { id } of sandboxes) await runtime.stopSandbox(id, signal);
    for (const { id } of containers) await runtime.removeContainer(id, signal);
    for (const { id } of sandboxes) await runtime.removeSandbox(id, signal);
  }

  /** Follows the runtime's changes. After a lost connection all pods are synced, since changes may have been missed. */
  async #followRuntime(signal: AbortSignal): Promise<void> {
    const { runtime, log, clock } = this.#options;
    const pause = breathe();
    let isMissed = false;
    while (!signal.aborted) {
      try {
        for (const worker of this.#workers.values()) this.#syncWorkers.add(worker);
        for await (const uids of runtime.changes(signal)) {
          isMissed = false;
          for (const uid of uids) this.wake(uid);
          if (pause.due()) await pause.now();
        }
      } catch (error) {
        if (signal.aborted) break;
        if (!isMissed) log.warn("the container runtime tells nothing", { runtime: runtime.name, error });
        isMissed = true;
      }
      await clock.sleep(retryMs, signal);
    }
    throw signal.reason;
  }

  async #sync(worker: PodWorker, signal: AbortSignal): Promise<void> {
    const node = this.#options.nodeOf(worker.node);
    if (!node?.isRunning) return;
    if (this.#isNameTaken(worker)) return this.#context.retryLater(worker);
    try {
      if (!worker.isAdmitted) this.#admit(worker, node);
      await worker.sync(signal);
      if (worker.isDeleted && worker.isFinished) {
        await worker.removeFromNode(signal);
        this.#removeWorker(worker);
        const mirror = isStatic(worker.pod) ? this.#mirrorOf(worker.pod) : undefined;
        if (mirror && mirroredHash(mirror) === worker.uid) await this.#removeMirror(mirror, signal);
        return;
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#options.log.warn("pod sync failed", { pod: worker.uid, node: worker.node, error });
      this.#context.retryLater(worker);
      return;
    }
    if (!worker.isDeleted) this.#queueStatus(worker);
  }

  /** Whether a static pod of an earlier version of the same manifest still runs. */
  #isNameTaken(worker: PodWorker): boolean {
    if (worker.isDeleted || !isStatic(worker.pod)) return false;
    const name = keyOfObject(worker.pod);
    return [...this.workersOn(worker.node)].some(
      (other) => other.isDeleted && isStatic(other.pod) && keyOfObject(other.pod) === name,
    );
  }

  async #removeMirror(mirror: Pod, signal: AbortSignal): Promise<void> {
    const node = this.#options.nodeOf(mirror.spec.nodeName ?? "");
    if (node) await removeMirror(mirror, node.client, signal);
  }

  #admit(worker: PodWorker, node: PodNode): void {
    worker.isAdmitted = true;
    const { pod } = worker;
    const isNew = pod.status.startTime === undefined && !hasEnded(pod);
    if (!isNew || pod.metadata.deletionTimestamp !== undefined) return;
    const rejection = node.admit(pod, this.#othersOn(node, worker));
    if (!rejection) return;
    this.#options.event(pod, "Warning", rejection.reason, rejection.message);
    worker.reject(rejection);
  }

  #othersOn(node: PodNode, worker: PodWorker): readonly Pod[] {
    const others = [...this.workersOn(node.name)].filter((other) => other !== worker && other.usesResources);
    return others.map(({ pod }) => pod);
  }

  #resizeRefusal(worker: PodWorker): ResizeProgress | undefined {
    const node = this.#options.nodeOf(worker.node);
    const lacks = (others: readonly Pod[]) => {
      const found = node?.admit(worker.pod, others);
      return found?.reason.startsWith(outOfPrefix) ? found.message : undefined;
    };
    const ever = lacks([]);
    if (ever !== undefined) return { type: "PodResizePending", reason: "Infeasible", message: ever };
    const now = node && lacks(this.#othersOn(node, worker));
    return now === undefined ? undefined : { type: "PodResizePending", reason: "Deferred", message: now };
  }

  #removeWorker(worker: PodWorker): void {
    this.#workers.delete(worker.uid);
    this.#syncWorkers.delete(worker);
    this.#statusWorkers.delete(worker);
    this.#statusQueue.delete(worker);
    const others = this.#byNode.get(worker.node);
    others?.delete(worker);
    if (others?.size === 0) this.#byNode.delete(worker.node);
  }

  /** Writes the status in the next turn of the event loop: a pod that starts without delay costs one write. */
  #queueStatus(worker: PodWorker): void {
    if (this.#statusQueue.size === 0)
      turn().then(
        () => this.#flushStatusQueue(),
        (error: unknown) => this.#options.log.error("settling failed", { error }),
      );
    this.#statusQueue.add(worker);
  }

  #flushStatusQueue(): void {
    for (const worker of this.#statusQueue) this.#statusWorkers.add(worker);
    this.#statusQueue.clear();
  }

  async #writeStatus(worker: PodWorker, signal: AbortSignal): Promise<void> {
    const node = this.#options.nodeOf(worker.node);
    if (!node?.isRunning || worker.isDeleted) return;
    try {
      if (isStatic(worker.pod)) await this.#writeMirror(worker, node, signal);
      else if (await writeStatus(worker, node.client, signal)) this.#context.wake(worker);
    } catch (error) {
      if (signal.aborted) return;
      this.#options.log.warn("pod status was not written", { pod: worker.uid, node: worker.node, error });
      this.#context.retryLater(worker);
    }
  }

  /** Waits until the node is registered, and until the informer knows which mirror pods exist. */
  async #writeMirror(worker: PodWorker, { client, name, uid }: PodNode, signal: AbortSignal): Promise<void> {
    if (uid === undefined || !this.#options.informer.hasSynced) return this.#context.retryLater(worker);
    await writeMirror(worker, { client, presentMirror: this.#mirrorOf(worker.pod), node: { name, uid } }, signal);
  }
}
