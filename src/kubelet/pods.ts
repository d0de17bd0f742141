// The pods of a node, or of many: a worker for each, one alarm and one set of lanes for all of them, and their statuses in the API.
// Nothing here happens in a watch callback but noting which pod to look at.
import type { Pod } from "#api/core/v1/pod.ts";
import { aborted } from "#base/aborted.ts";
import { breathe, turn } from "#base/breathe.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { retry } from "#base/retry.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import type { Change, Informer } from "#client/informer.ts";
import { keyOfObject } from "#client/place.ts";
import type { Hooks } from "./hooks.ts";
import type { HostResource } from "./host-resource.ts";
import { outOfPrefix } from "./node/admit.ts";
import type { ResizeProgress } from "./pod/resize.ts";
import type { Termination } from "./pod/view.ts";
import { PodWorker } from "./pod-worker.ts";
import type { Probes } from "./probes/probes.ts";
import type { ContainerRuntime, Credentials } from "./runtime.ts";
import { Semaphore } from "./semaphore.ts";
import { removeMirror, writeMirror } from "./static-pods/mirror.ts";
import { isStatic, mirroredHash } from "./static-pods/static-pod.ts";
import { writeStatus } from "./status-writer.ts";
import { TimerQueue } from "./timer-queue.ts";
import { WorkerPool } from "./worker-pool.ts";

/** A node as its pods see it. */
export interface PodNode {
  readonly name: string;
  /** Acts as the node. */
  readonly client: Client;
  readonly hostIps: readonly string[];
  /** Of the node in the API; only what stands for static pods needs it. */
  readonly uid?: string | undefined;
  /** Whether the node looks after its pods; one that is stopped does nothing, as if its machine were off. */
  readonly isRunning: boolean;
  /** Why the node cannot take the pod, if it cannot. */
  admit(pod: Pod, others: readonly Pod[]): Rejection | undefined;
}

export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

export type RecordEvent = (
  about: Pod,
  type: "Normal" | "Warning",
  reason: string,
  message: string,
  container?: string,
) => void;

export interface PodsOptions {
  readonly informer: Informer<typeof Pod>;
  readonly runtime: ContainerRuntime;
  readonly probes: Probes;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly log: Log;
  readonly event: RecordEvent;
  /** What to pull an image with. */
  readonly credentials: (pod: Pod, image: string, signal: AbortSignal) => Promise<Credentials | undefined>;
  /** The node of that name, if it is one of ours. */
  readonly nodeOf: (name: string) => PodNode | undefined;
  /** What pods stand on here; given up in the opposite order. */
  readonly hostResources?: readonly HostResource[];
  /** How many pods are made at once; as many as there are unless told. */
  readonly maxConcurrentStarts?: number | undefined;
}

/** What a worker works with. */
export interface PodsContext extends Omit<PodsOptions, "informer" | "madeAtOnce"> {
  readonly hostResources: readonly HostResource[];
  /** Whether anything of these is given up when nothing of a pod runs any more. */
  readonly hasReleasable: boolean;
  readonly timers: TimerQueue<PodWorker>;
  /** Through which each pod goes to get a sandbox. */
  readonly starts: Semaphore;
  /** Why the pod cannot be given what its spec says by now, if it cannot. */
  readonly resizeRefusal: (worker: PodWorker) => ResizeProgress | undefined;
  /** Something has happened to the pod: look again soon. */
  readonly wake: (worker: PodWorker) => void;
  /** Something has gone wrong: look again in a while. */
  readonly retryLater: (worker: PodWorker) => void;
}

const syncWorkers = 16;
const statusWorkers = 64;
/** What cannot be cleared at once is tried again ever more seldom. */
const orphanRetry = { firstMs: 1_000, maxMs: 60_000 };
const retryMs = 1000;
/** A pod that takes longer to be made has met some trouble. */
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
  /** Workers with something to tell, once what they have just begun had a moment to end: what happens at once is told at once. */
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

  /** Looks at all pods of a node again: it was started, or its own state has changed. */
  wakeNode(node: string): void {
    for (const worker of this.workersOn(node)) this.#syncWorkers.add(worker);
  }

  /** Looks at a pod again. */
  wake(uid: string): void {
    const worker = this.#workers.get(uid);
    if (worker) this.#syncWorkers.add(worker, "first");
  }

  /** What a pod could not be made without is there: it need not wait any longer. */
  retry(uid: string): void {
    const worker = this.#workers.get(uid);
    if (worker?.skipBackoff()) this.#syncWorkers.add(worker, "first");
  }

  /** Ends a pod for a reason of the node's own. */
  evict(uid: string, ending: Termination): void {
    const worker = this.#workers.get(uid);
    if (!worker || worker.isTerminating) return;
    this.#options.event(worker.pod, "Warning", ending.reason, ending.message);
    worker.terminate(ending);
    this.wake(uid);
  }

  /** The pods that come from the node itself are these, and no others. */
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

  /** What the API has under the name of a static pod. */
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

  #onPodChange({ old, object }: Change<Pod>): void {
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

  /** What there is of pods that ended while no kubelet was there to see it. */
  async #removeOrphansOnce(signal: AbortSignal): Promise<void> {
    const { informer, clock } = this.#options;
    await informer.synced(signal);
    await retry(() => this.#removeOrphans(signal), { ...orphanRetry, clock }, signal);
    await aborted(signal);
  }

  /** One that cannot be cleared is in nobody's way; throws if there was any. */
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

  /** A runtime that cannot be reached is asked again; its pods are looked at again then, since nobody knows what was missed. */
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

  /** Whether what an earlier version of a file described still runs. */
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
    const { phase, startTime } = pod.status;
    const isNew = startTime === undefined && phase !== "Failed" && phase !== "Succeeded";
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

  /** In the next turn of the event loop: a pod that starts without delay is told of once, when it runs. */
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

  /** Before the node is in the API, and before it is known what else is, there is nobody to tell. */
  async #writeMirror(worker: PodWorker, { client, name, uid }: PodNode, signal: AbortSignal): Promise<void> {
    if (uid === undefined || !this.#options.informer.hasSynced) return this.#context.retryLater(worker);
    await writeMirror(worker, { client, presentMirror: this.#mirrorOf(worker.pod), node: { name, uid } }, signal);
  }
}
