// Asks every kubelet what its node and its containers use. A node is asked as soon as it is there and once more soon after, since the use of
// processors follows from two measurements; then at every interval. The same goes for a node on which a pod has begun to run.
// Upstream: sigs.k8s.io/metrics-server/pkg/scraper/scraper.go.
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { turn } from "#base/breathe.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { WorkQueue } from "#base/queue.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Informer } from "#client/informer.ts";
import { keyOf } from "#client/object-key.ts";
import { readResourceSamples } from "./resource-samples.ts";
import { advanceWindows, isComplete, type NodeWindows } from "./usage-windows.ts";

export interface ScraperOptions {
  readonly nodes: Informer<typeof Node>;
  readonly pods: Informer<typeof Pod>;
  /** The text at /metrics/resource of a node's kubelet. */
  readonly read: (node: Node, signal: AbortSignal) => Promise<string>;
  readonly clock: Clock;
  readonly log: Log;
}

const resolutionMs = 15_000;
/** How soon after the first measurement the second one is made. */
const secondMs = 5000;
/** Pods come in groups, and what has just begun has used nothing yet. */
const newPodMs = 1000;
const timeoutMs = 10_000;
/** How many kubelets are asked at once. */
const workers = 10;

export class MetricsScraper implements Component {
  readonly name = "metrics scraper";
  readonly #options: ScraperOptions;
  readonly #queue: WorkQueue;
  readonly #windows = new Map<string, NodeWindows>();
  readonly #silent = new Set<string>();

  constructor(options: ScraperOptions) {
    this.#options = options;
    this.#queue = new WorkQueue(options.clock);
  }

  /** What is known of a node now; undefined for one that did not answer last time. */
  windowsOf(node: string): NodeWindows | undefined {
    return this.#windows.get(node);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { nodes, pods } = this.#options;
    const stops = [
      nodes.onChange(({ key, old, object }) => {
        if (!object) this.#forget(key);
        else if (!old) this.#queue.add(key);
      }),
      pods.onChange(({ old, object }) => {
        if (object && isRunning(object) && !(old && isRunning(old)) && !this.#isKnown(object))
          this.#queue.addAfter(object.spec.nodeName ?? "", newPodMs);
      }),
    ];
    try {
      const work = Array.from({ length: workers }, (_, i) => ({
        name: `${this.name} ${i}`,
        run: (stop: AbortSignal) => this.#work(stop),
      }));
      await supervise(work, signal);
    } finally {
      for (const stop of stops) stop();
      this.#queue.close();
    }
  }

  #forget(node: string): void {
    this.#windows.delete(node);
    this.#silent.delete(node);
  }

  #isKnown({ metadata, spec }: Pod): boolean {
    const windows = this.#windows.get(spec.nodeName ?? "")?.pods.get(keyOf(metadata));
    return windows !== undefined && [...windows.values()].every(({ previous }) => previous !== undefined);
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (;;) {
      const name = await this.#queue.next(signal);
      try {
        const node = this.#options.nodes.cache.get(name);
        if (node) {
          await this.#scrape(node, signal);
          const known = this.#windows.get(name);
          this.#queue.addAfter(name, known && !isComplete(known) ? secondMs : resolutionMs);
        } else this.#forget(name); // it may have gone while it was asked
      } finally {
        this.#queue.done(name);
      }
      await turn(); // kubelets of this process answer without waiting for anything, and there may be thousands
    }
  }

  async #scrape(node: Node, signal: AbortSignal): Promise<void> {
    const { read, clock, log } = this.#options;
    const { name } = node.metadata;
    const late = new AbortController();
    const cancel = clock.after(timeoutMs, () => late.abort(new Error(`no answer within ${timeoutMs / 1000} s`)));
    const either = AbortSignal.any([signal, late.signal]);
    try {
      const text = await unlessAborted(read(node, either), either);
      const samples = readResourceSamples(text, clock.now());
      this.#windows.set(name, advanceWindows(this.#windows.get(name), samples, resolutionMs));
      if (this.#silent.delete(name)) log.info("a node answers again what it uses", { node: name });
    } catch (error) {
      signal.throwIfAborted();
      // Old numbers would look like new ones.
      this.#windows.delete(name);
      if (this.#silent.has(name)) return;
      this.#silent.add(name);
      log.warn("a node does not answer what it uses", { node: name, error: explain(error) });
    } finally {
      cancel();
    }
  }
}

const isRunning = ({ spec, status }: Pod): boolean => spec.nodeName !== undefined && status.phase === "Running";
