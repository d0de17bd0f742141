// Hooks as they are run on a real node: in the container, over HTTP, or by waiting.
import type { Clock } from "#base/clock.ts";
import type { Hook, Hooks } from "./hooks.ts";
import { httpProbeOf, type ProbeHandlers } from "./probes/run-probe.ts";
import type { ContainerRuntime } from "./runtime.ts";

export interface ContainerHooksOptions {
  readonly runtime: ContainerRuntime;
  readonly handlers: ProbeHandlers;
  readonly clock: Clock;
  readonly version: string;
}

export function containerHooks({ runtime, handlers, clock, version }: ContainerHooksOptions): Hooks {
  const run = async ({ pod, container, id, handler }: Hook, signal: AbortSignal): Promise<void> => {
    if (handler.sleep) return clock.sleep(handler.sleep.seconds * 1000, signal);
    if (handler.exec) {
      const { exitCode, output } = await runtime.exec(id, handler.exec.command ?? [], signal);
      if (exitCode !== 0)
        throw new Error(`hook ended with exit code ${exitCode}: ${new TextDecoder().decode(output.slice(0, 1024))}`);
      return;
    }
    if (!handler.httpGet) throw new Error(`container ${container.name} has a hook that says nothing to do`);
    const { sandboxes } = await runtime.observe(pod.metadata.uid ?? "", signal);
    const ip = sandboxes[0]?.ips[0] ?? pod.status.hostIP ?? "";
    const request = httpProbeOf(handler.httpGet, container, ip, `kube-lifecycle/${version}`);
    const { result, output } = await handlers.http(request, signal);
    if (result === "failure") throw new Error(output);
  };
  return {
    async run(hook, signal) {
      const limit = new AbortController();
      const abort = () => limit.abort(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      let isLate = false;
      const cancel =
        hook.timeoutMs === Number.POSITIVE_INFINITY
          ? () => undefined
          : clock.after(hook.timeoutMs, () => {
              isLate = true;
              limit.abort(new Error("the hook took too long"));
            });
      try {
        await run(hook, limit.signal);
      } catch (error) {
        if (!isLate || signal.aborted) throw error; // a hook that exceeds its grace period has not failed: the stop goes on without it
      } finally {
        cancel();
        signal.removeEventListener("abort", abort);
      }
    },
  };
}
