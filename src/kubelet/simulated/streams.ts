// Logs and commands of simulated containers.
import type { Pod } from "#api/core/v1/pod.ts";
import { exitStatus } from "#wire/streams/remote-command.ts";
import { containersIn } from "../pod/containers.ts";
import type { SimulatedRuntime } from "../runtime/simulated.ts";
import type { ContainerStreams, LogLine } from "../server/streams.ts";
import { answerCommand } from "./command.ts";

export function simulatedStreams(runtime: SimulatedRuntime, podOf: (uid: string) => Pod | undefined): ContainerStreams {
  const placeOf = (id: string) => {
    const state = runtime.find(id);
    if (!state) throw new Error(`container ${id} not found`);
    const pod = podOf(runtime.podOf(id) ?? "");
    return { pod, container: pod && containersIn(pod.spec).get(state.name) };
  };
  return {
    async log(id, signal) {
      const at = runtime.find(id)?.startedAt ?? 0;
      const past: LogLine[] = (runtime.scriptOf(id)?.logs ?? []).map((text) => ({ at, text }));
      return { past, live: silence(runtime, id, signal) };
    },
    async exec({ id }, command, { stdin, stdout, stderr }, signal) {
      if (command[0] === "cat" && stdin) {
        for await (const part of stdin) await stdout?.(part);
        return exitStatus(0);
      }
      const { exitCode, output } = answerCommand(command, placeOf(id));
      const write = exitCode === 127 ? (stderr ?? stdout) : stdout;
      await write?.(new TextEncoder().encode(output));
      signal.throwIfAborted();
      return exitStatus(exitCode);
    },
    async attach({ id }, { stdout }, signal) {
      const lines = runtime.scriptOf(id)?.logs ?? [];
      await stdout?.(new TextEncoder().encode(lines.map((line) => `${line}\n`).join("")));
      await runtime.ended(id, signal);
      return exitStatus(0);
    },
    portForward: async () => {
      throw new Error("the pod is simulated: nothing listens in it");
    },
  };
}

/** No line ever, until the container ends or nobody listens. */
const silence = (runtime: SimulatedRuntime, id: string, signal: AbortSignal): AsyncIterable<LogLine> => ({
  [Symbol.asyncIterator]: () => ({
    async next() {
      await runtime.ended(id, signal);
      return { done: true, value: undefined };
    },
  }),
});
