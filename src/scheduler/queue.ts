// The pods that wait for a node.
//
//   active    to be tried, the most important first, then the one that has waited longest
//   backOff   may be tried again at a time; earlier only when nothing else is to be tried
//   stuck     tried in vain: waits for a change that may cure what it was refused for, five minutes at most
//   gated     not to be tried before it says so itself
//   in hand   being tried or bound; what happens meanwhile is remembered for it
import type { Clock } from "#base/clock.ts";
import { Heap } from "#base/heap.ts";
import { backoffMs } from "#base/retry.ts";
import { partsChanged } from "./changes.ts";
import type { ChangeType, QueueEntry, SchedulerPlugin, Wake, WatchedChange } from "./framework.ts";
import type { PodView } from "./pod-view.ts";
import type { Snapshot } from "./snapshot.ts";

export interface SchedulingQueueOptions {
  readonly clock: Clock;
  readonly snapshot: Snapshot;
  /** Negative if the first is to be tried before the second. */
  readonly compare: (a: QueueEntry, b: QueueEntry) => number;
  /** The plugin that keeps a pod from being tried at all. */
  readonly gateOf: (pod: PodView) => SchedulerPlugin | undefined;
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
}

const longestStuckMs = 5 * 60_000;
const sweepMs = 30_000;

type Where = "active" | "backOff" | "stuck" | "gated" | "inHand" | "gone";

export interface QueuedPod extends QueueEntry {
  view: PodView;
  since: number;
  /** When it came first. */
  readonly firstSeen: number;
  where: Where;
  /** Who keeps it from being tried at all. */
  gate: SchedulerPlugin | undefined;
  attempts: number;
  /** Attempts that ended in a refusal, and failures since the last attempt that ended in a verdict: they decide how long it backs off. */
  refused: number;
  failures: number;
  retryAt: number;
  /** Who refused it last. Nobody: any change may help. */
  refusedBy: ReadonlySet<SchedulerPlugin>;
  /** The state of the cluster when it was last refused. */
  triedAt: number;
  /** While in hand: how many changes had been remembered when it was taken. */
  seen: number;
}

/** An entry of a heap. It is void once the pod is elsewhere, or waits for another time. */
interface Retry {
  readonly pod: QueuedPod;
  readonly at: number;
}

export class SchedulingQueue {
  readonly #options: SchedulingQueueOptions;
  readonly #pods = new Map<string, QueuedPod>();
  readonly #active: Heap<QueuedPod>;
  readonly #sizes = { active: 0, backOff: 0, stuck: 0, gated: 0, inHand: 0, gone: 0 };
  readonly #backOff = new Heap<Retry>((a, b) => a.at - b.at);
  /** The same after failures: these are never tried early, since the API server may be unwell. */
  readonly #failed = new Heap<Retry>((a, b) => a.at - b.at);
  readonly #stuckBy = new Map<SchedulerPlugin, Set<QueuedPod>>();
  /** Stuck, but nobody refused them. */
  readonly #stuckByNone = new Set<QueuedPod>();
  readonly #gated = new Set<QueuedPod>();
  readonly #inHand = new Set<QueuedPod>();
  /** What happened while pods were in hand, the oldest first; the first of all is number `#forgotten`. */
  #remembered: WatchedChange[] = [];
  #forgotten = 0;
  #cancelRetry: (() => void) | undefined;
  #cancelSweep: (() => void) | undefined;
  #wake: (() => void) | undefined;

  constructor(options: SchedulingQueueOptions) {
    this.#options = options;
    this.#active = new Heap<QueuedPod>((a, b) => options.compare(a, b));
  }

  /** How many pods are where. */
  get sizes(): Readonly<Record<"active" | "backOff" | "stuck" | "gated", number>> {
    const { active, backOff, stuck, gated } = this.#sizes;
    return { active, backOff, stuck, gated };
  }

  get(uid: string): QueuedPod | undefined {
    return this.#pods.get(uid);
  }

  /** A pod that needs a node, or a change to it. */
  set(view: PodView): void {
    const known = this.#pods.get(view.uid);
    if (known) {
      this.#changed(known, view);
      return;
    }
    const pod: QueuedPod = {
      view,
      since: this.#now,
      firstSeen: this.#now,
      where: "gone",
      gate: undefined,
      attempts: 0,
      refused: 0,
      failures: 0,
      retryAt: 0,
      refusedBy: new Set(),
      triedAt: -1,
      seen: 0,
    };
    this.#pods.set(view.uid, pod);
    this.#admit(pod);
  }

  /** The pod is gone, or has a node. */
  delete(uid: string): void {
    const pod = this.#pods.get(uid);
    if (!pod) return;
    this.#pods.delete(uid);
    this.#leave(pod);
    this.#move(pod, "gone");
  }

  /** The pod to try next, if any; it is in hand until `refuse`, `fail` or `done`. */
  take(): QueuedPod | undefined {
    const pod = this.#next();
    if (!pod) return undefined;
    this.#leave(pod);
    this.#move(pod, "inHand");
    pod.attempts++;
    pod.seen = this.#forgotten + this.#remembered.length;
    this.#inHand.add(pod);
    return pod;
  }

  /** Resolves when there may be a pod to take. */
  async wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#sizes.active > 0 || firstOf(this.#backOff)) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const aborted = () => reject(signal.reason);
    signal.addEventListener("abort", aborted, { once: true });
    this.#wake = resolve;
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", aborted);
    }
  }

  /** No node would do. The pod waits for a change that may help; if there was one meanwhile, only until its time has come. */
  refuse(pod: QueuedPod, refusedBy: ReadonlySet<SchedulerPlugin>): void {
    if (!this.#giveBack(pod)) return;
    pod.refused++;
    pod.failures = 0;
    pod.refusedBy = refusedBy;
    pod.triedAt = this.#options.snapshot.generation;
    pod.retryAt = pod.since + this.#backoffMs(pod.refused);
    const missed = this.#remembered.slice(Math.max(0, pod.seen - this.#forgotten));
    if (missed.some((change) => this.#mayCure(pod, change))) this.#retry(pod);
    else this.#stick(pod);
    this.#forget();
  }

  /** Something went wrong that has nothing to do with where the pod fits: it is tried again later. */
  fail(pod: QueuedPod): void {
    if (!this.#giveBack(pod)) return;
    pod.failures++;
    pod.refusedBy = new Set();
    pod.retryAt = pod.since + this.#backoffMs(pod.failures);
    this.#enterBackOff(pod);
    this.#forget();
  }

  /** The pod no longer depends on what happens to the cluster: it is being bound. */
  done(pod: QueuedPod): void {
    this.#inHand.delete(pod);
    this.#forget();
  }

  /** Something changed: tries again the pods it may help. */
  changed(change: WatchedChange): void {
    if (this.#inHand.size > 0) this.#remembered.push(change);
    // A copy: a pod that stays gated is taken out and put in again, and would be met without end.
    for (const pod of [...this.#gated]) if (pod.gate?.wakes?.some((wake) => isAbout(wake, change))) this.#recheck(pod);
    if (this.#sizes.stuck === 0) return;
    const cured: QueuedPod[] = [...this.#stuckByNone];
    for (const [plugin, pods] of this.#stuckBy) {
      const wakes = plugin.wakes?.filter((wake) => isAbout(wake, change)) ?? [];
      if (wakes.length === 0) continue;
      for (const pod of pods) if (wakes.some((wake) => this.#cures(wake, pod, change))) cured.push(pod);
    }
    for (const pod of cured) if (pod.where === "stuck") this.#retry(pod);
  }

  /** Tries a pod again, whatever it waits for. */
  retry(uid: string): void {
    const pod = this.#pods.get(uid);
    if (pod?.where === "stuck") this.#retry(pod);
    else if (pod?.where === "gated") this.#recheck(pod);
  }

  /** Stops its timers. */
  close(): void {
    this.#cancelRetry?.();
    this.#cancelSweep?.();
  }

  get #now(): number {
    return this.#options.clock.elapsed();
  }

  #changed(pod: QueuedPod, view: PodView): void {
    const old = pod.view;
    pod.view = view;
    if (pod.where === "gated") {
      this.#recheck(pod);
      return;
    }
    if (pod.where !== "stuck" && pod.where !== "inHand") return;
    const happened: readonly ChangeType[] = partsChanged(old, view);
    const change: WatchedChange = { kind: "Pod", old, now: view, happened };
    if (pod.where === "stuck") {
      if (this.#mayCure(pod, change)) this.#retry(pod);
    } else if (this.#inHand.has(pod)) this.#remembered.push(change);
  }

  #admit(pod: QueuedPod): void {
    if (this.#isHeld(pod)) return;
    pod.since = this.#now;
    this.#enterActive(pod);
  }

  /** Whether a plugin keeps the pod from being tried at all. */
  #isHeld(pod: QueuedPod): boolean {
    pod.gate = this.#options.gateOf(pod.view);
    if (!pod.gate) return false;
    this.#move(pod, "gated");
    this.#gated.add(pod);
    return true;
  }

  #recheck(pod: QueuedPod): void {
    this.#leave(pod);
    if (pod.attempts === 0) this.#admit(pod);
    else this.#retry(pod);
  }

  /** Whether the pod is still to be given a node. */
  #giveBack(pod: QueuedPod): boolean {
    this.#inHand.delete(pod);
    if (this.#pods.get(pod.view.uid) !== pod) {
      this.#forget();
      return false;
    }
    pod.since = this.#now;
    return true;
  }

  #retry(pod: QueuedPod): void {
    this.#leave(pod);
    if (this.#isHeld(pod)) return;
    if (pod.retryAt > this.#now) this.#enterBackOff(pod);
    else this.#enterActive(pod);
  }

  #enterActive(pod: QueuedPod): void {
    this.#move(pod, "active");
    this.#active.push(pod);
    this.#wake?.();
  }

  #enterBackOff(pod: QueuedPod): void {
    this.#move(pod, "backOff");
    const hasFailed = pod.failures > 0;
    (hasFailed ? this.#failed : this.#backOff).push({ pod, at: pod.retryAt });
    this.#arm();
    if (!hasFailed) this.#wake?.();
  }

  #stick(pod: QueuedPod): void {
    this.#move(pod, "stuck");
    if (pod.refusedBy.size === 0) this.#stuckByNone.add(pod);
    for (const plugin of pod.refusedBy) {
      const same = this.#stuckBy.get(plugin);
      if (same) same.add(pod);
      else this.#stuckBy.set(plugin, new Set([pod]));
    }
    this.#cancelSweep ??= this.#options.clock.after(sweepMs, () => this.#sweep());
  }

  #move(pod: QueuedPod, where: Where): void {
    this.#sizes[pod.where]--;
    this.#sizes[where]++;
    pod.where = where;
    if (this.#sizes.stuck > 0) return;
    this.#cancelSweep?.();
    this.#cancelSweep = undefined;
  }

  /** Takes the pod out of where it is. Entries of the heaps are left there, and passed over when their turn comes. */
  #leave(pod: QueuedPod): void {
    if (pod.where === "inHand") this.#inHand.delete(pod);
    if (pod.where === "gated") this.#gated.delete(pod);
    if (pod.where !== "stuck") return;
    this.#stuckByNone.delete(pod);
    for (const plugin of pod.refusedBy) {
      const same = this.#stuckBy.get(plugin);
      same?.delete(pod);
      if (same?.size === 0) this.#stuckBy.delete(plugin);
    }
  }

  #next(): QueuedPod | undefined {
    for (let pod = this.#active.pop(); pod; pod = this.#active.pop()) if (pod.where === "active") return pod;
    return firstOf(this.#backOff)?.pod;
  }

  #mayCure(pod: QueuedPod, change: WatchedChange): boolean {
    if (pod.refusedBy.size === 0) return true;
    for (const { wakes = [] } of pod.refusedBy)
      for (const wake of wakes) if (isAbout(wake, change) && this.#cures(wake, pod, change)) return true;
    return false;
  }

  #cures(wake: Wake, { view }: QueuedPod, change: WatchedChange): boolean {
    // `isAbout` has seen that both are of one kind, which the compiler cannot follow through the union.
    const cures = wake.cures as ((...about: unknown[]) => boolean) | undefined;
    return cures?.call(wake, view, change, this.#options.snapshot) ?? true;
  }

  #backoffMs(times: number): number {
    const { firstBackoffMs, maxBackoffMs } = this.#options;
    return backoffMs({ firstMs: firstBackoffMs, maxMs: maxBackoffMs }, times - 1);
  }

  #arm(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    const at = Math.min(firstOf(this.#backOff)?.at ?? Infinity, firstOf(this.#failed)?.at ?? Infinity);
    if (at < Infinity) this.#cancelRetry = this.#options.clock.after(at - this.#now, () => this.#release());
  }

  #release(): void {
    const now = this.#now;
    for (const heap of [this.#backOff, this.#failed])
      for (let first = firstOf(heap); first && first.at <= now; first = firstOf(heap)) this.#enterActive(first.pod);
    this.#arm();
  }

  /** A hint may be wrong, so nothing stays stuck for ever. While the cluster is as it was, the verdict would be, too. */
  #sweep(): void {
    const { clock, snapshot } = this.#options;
    const now = this.#now;
    for (const pod of this.#pods.values()) {
      if (pod.where !== "stuck" || now - pod.since < longestStuckMs) continue;
      if (pod.triedAt === snapshot.generation) pod.since = now;
      else this.#retry(pod);
    }
    this.#cancelSweep = this.#sizes.stuck > 0 ? clock.after(sweepMs, () => this.#sweep()) : undefined;
  }

  /** Drops what no pod in hand may have missed. */
  #forget(): void {
    if (this.#inHand.size > 0 || this.#remembered.length === 0) return;
    this.#forgotten += this.#remembered.length;
    this.#remembered = [];
  }
}

const isAbout = ({ kind, on }: Wake, change: WatchedChange): boolean =>
  kind === change.kind && on.some((one) => change.happened.includes(one));

/** The earliest retry that still counts. */
function firstOf(heap: Heap<Retry>): Retry | undefined {
  for (let first = heap.peek(); first; first = heap.peek()) {
    if (first.pod.where === "backOff" && first.pod.retryAt === first.at) return first;
    heap.pop();
  }
  return undefined;
}
