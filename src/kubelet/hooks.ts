// Lifecycle hooks of containers: postStart and preStop.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { LifecycleHandler } from "#api/core/v1/probe.ts";

export interface Hook {
  readonly pod: Pod;
  readonly container: Container;
  /** Of the container at the runtime. */
  readonly id: string;
  readonly handler: LifecycleHandler;
  readonly timeoutMs: number;
}

export interface Hooks {
  /** Resolves when the hook is done, or when its time is over; rejects if it failed. */
  run(hook: Hook, signal: AbortSignal): Promise<void>;
}
