// What is done through the API because of pods, beside the cycles: bindings, reports, and what plugins ask for.
import { Pod } from "#api/core/v1/pod.ts";
import { explain } from "#base/errors.ts";
import { EventRecorder } from "#client/events.ts";
import { causeOf } from "#client/object-key.ts";
import type { BindingContext } from "./framework.ts";
import { PodsInFlight } from "./in-flight.ts";
import type { PodView } from "./pod-view.ts";
import type { SchedulerOptions } from "./scheduler-state.ts";

const mostInFlight = 256;

export class PodActions {
  readonly inFlight = new PodsInFlight(mostInFlight);
  /** Writes events; to be run beside the cycles. */
  readonly recorder: EventRecorder;
  readonly #options: SchedulerOptions;
  #signal: AbortSignal;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#signal = options.client.signal;
    this.recorder = new EventRecorder(options);
  }

  /** From now on, actions end with this signal. */
  endWith(signal: AbortSignal): void {
    this.#signal = signal;
  }

  /** Does something because of a pod. A failure is logged. */
  act(
    pod: PodView,
    what: string,
    work: (context: BindingContext) => Promise<void>,
    component = pod.pod.spec.schedulerName,
  ): void {
    const { log } = this.#options;
    const run = async () => {
      try {
        await work(this.contextFor(pod, component));
      } catch (error) {
        if (!this.#signal.aborted) log.warn("could not act for a pod", { pod: pod.key, what, error: explain(error) });
      }
    };
    this.inFlight.add(run());
  }

  /** The client whose writes name the pod as their cause, and events about it. */
  contextFor({ pod, key }: PodView, component: string): BindingContext {
    const { client, clock, host } = this.#options;
    const signal = this.#signal;
    return {
      client: client.bound({ signal, because: causeOf(Pod, key, pod.metadata.resourceVersion) }),
      signal,
      clock,
      event: (type, reason, message, about = pod) =>
        this.recorder.record(about, { type, reason, message, component, ...(host !== undefined && { host }) }),
    };
  }
}
