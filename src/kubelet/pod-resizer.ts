// Resizes the running containers of one pod.
import type { Pod } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import { explain } from "#base/errors.ts";
import { graceOf } from "./pod/plan-builder.ts";
import {
  type ContainerResources,
  dueResizes,
  isToldOf,
  type Resize,
  type ResizeProgress,
  type ResizeView,
  resizeSummary,
} from "./pod/resize.ts";
import type { BeginStop } from "./pod/view.ts";
import type { PodsContext } from "./pods-context.ts";

/** What a resizer needs of the worker of its pod. */
export interface ResizeHost {
  /** Why the pod cannot be given what its spec says by now, if it cannot. */
  refusal(): ResizeProgress | undefined;
  event(type: "Normal" | "Warning", reason: string, message: string): void;
  beginStop(stop: BeginStop): void;
  /** Runs work in the background, and syncs the pod when it is over. */
  go(work: Promise<void>): void;
}

const retryMs = 10_000;
const inProgress = { type: "PodResizeInProgress" } as const;

export class PodResizer {
  /** Of a change that is not done. */
  progress: ResizeProgress | undefined;
  readonly #context: PodsContext;
  readonly #host: ResizeHost;
  readonly #resized = new Map<string, ContainerResources>();
  #isBusy = false;
  /** A failed resize is tried again after a while, or when the spec changes again. */
  #failed: { readonly generation: number | undefined; readonly retryAt: number } | undefined;

  constructor(context: PodsContext, host: ResizeHost, { status }: Pod) {
    this.#context = context;
    this.#host = host;
    // A resize that an earlier kubelet has begun.
    if (status.conditions?.some(({ type }) => type === inProgress.type)) this.progress = inProgress;
  }

  /** Resources that containers were given since the last status, by container id. */
  get resized(): ReadonlyMap<string, ContainerResources> {
    return this.#resized;
  }

  /** When to look again if nothing happens before. */
  sync(view: Omit<ResizeView, "resized" | "runtimeName">, signal: AbortSignal): number {
    const { clock, runtime } = this.#context;
    const { pod, state } = view;
    const now = clock.now();
    if (this.#isBusy) return Number.POSITIVE_INFINITY;
    for (const [id, resources] of this.#resized)
      if (isToldOf(pod, `${runtime.name}://${id}`, resources) || !state.containers.some((one) => one.id === id))
        this.#resized.delete(id);
    const due = dueResizes({ ...view, runtimeName: runtime.name, resized: this.#resized });
    const failed = this.#failed;
    if (failed && failed.generation === pod.metadata.generation && now < failed.retryAt) return failed.retryAt;
    if (due.length === 0) {
      if (this.progress !== undefined && this.progress.type !== inProgress.type) this.progress = undefined;
      const isSettled = this.progress !== undefined && view.starting.size + view.stopping.size === 0;
      if (isSettled) this.#runInBackground(pod, () => this.#complete(pod), signal);
      return Number.POSITIVE_INFINITY;
    }
    const refused = this.#host.refusal();
    if (!refused) {
      this.#begin(due, pod, signal);
      return Number.POSITIVE_INFINITY;
    }
    const { reason, message } = refused;
    if (!equal(refused, this.progress))
      this.#host.event("Warning", `Resize${reason}`, `Pod resize ${reason}: ${resizeSummary(pod, message)}`);
    this.progress = refused;
    return now + retryMs;
  }

  #begin(due: readonly Resize[], pod: Pod, signal: AbortSignal): void {
    const { event, beginStop } = this.#host;
    if (this.progress?.type !== inProgress.type)
      event("Normal", "ResizeStarted", `Pod resize started: ${resizeSummary(pod)}`);
    this.progress = inProgress;
    for (const { state, container, restarts } of due) {
      if (!restarts) continue;
      const { id, name } = state;
      const message = `Container ${name} resize requires restart`;
      const hook = container.lifecycle?.preStop && container;
      beginStop({ type: "beginStop", id, name, graceMs: graceOf(pod), message, hook, restart: true });
    }
    this.#runInBackground(pod, () => this.#change(due, pod, signal), signal);
  }

  /** What fails is told of, and tried again. */
  #runInBackground(pod: Pod, work: () => Promise<void>, signal: AbortSignal): void {
    const { event, go } = this.#host;
    const run = async () => {
      try {
        await work();
        this.#failed = undefined;
      } catch (error) {
        if (signal.aborted) throw error;
        const message = explain(error);
        this.#failed = { generation: pod.metadata.generation, retryAt: this.#context.clock.now() + retryMs };
        this.progress = { ...inProgress, reason: "Error", message };
        event("Warning", "ResizeError", `Pod resize error: ${resizeSummary(pod, message)}`);
      } finally {
        this.#isBusy = false;
      }
    };
    this.#isBusy = true;
    go(run());
  }

  /** The pod's cgroup bounds its containers: until all are changed, it has the larger of their old and new sums. */
  async #change(due: readonly Resize[], pod: Pod, signal: AbortSignal): Promise<void> {
    const { runtime } = this.#context;
    await this.#resizePod(pod);
    for (const { state, container, restarts } of due) {
      if (restarts) continue;
      await runtime.resizeContainer(state.id, pod, container, signal);
      this.#resized.set(state.id, container.resources);
    }
  }

  /** All containers have what their spec says; now their pod may have less. */
  async #complete(pod: Pod): Promise<void> {
    const { containerStatuses: _, initContainerStatuses: __, ...status } = pod.status;
    await this.#resizePod({ ...pod, status });
    this.progress = undefined;
    this.#host.event("Normal", "ResizeCompleted", `Pod resize completed: ${resizeSummary(pod)}`);
  }

  async #resizePod(pod: Pod): Promise<void> {
    for (const resource of this.#context.hostResources) await resource.resize?.(pod);
  }
}
