// Logs and commands of simulated containers.
import type { Pod } from "#api/core/v1/pod.ts";
import { microTimeOf } from "#schema/time.ts";
import { exitStatus } from "#wire/streams/remote-command.ts";
import { containersIn } from "../pod/containers.ts";
import type { SimulatedRuntime } from "../runtime/simulated.ts";
import type { ContainerStreams, LogEntry, LogQuery } from "../server/streams.ts";
import { answerCommand, isShell, isShellCommand, runShell } from "./command.ts";

export function simulatedStreams(runtime: SimulatedRuntime, podOf: (uid: string) => Pod | undefined): ContainerStreams {
  const placeOf = (id: string) => {
    const state = runtime.find(id);
    if (!state) throw new Error(`container ${id} not found`);
    const pod = podOf(runtime.podOf(id) ?? "");
    return { pod, container: pod && containersIn(pod.spec).get(state.name) };
  };
  return {
    log: async (id, query, signal) => scriptedLog(runtime, id, query, signal),
    async exec({ id }, command, { stdin, stdout, stderr }, signal) {
      if (command[0] === "cat" && stdin) {
        for await (const part of stdin) await stdout?.(part);
        return exitStatus(0);
      }
      if (isShellCommand(command)) return exitStatus(await runShell({ stdin, stdout, stderr }, placeOf(id)));
      const { exitCode, output } = answerCommand(command, placeOf(id));
      const write = exitCode === 127 ? (stderr ?? stdout) : stdout;
      await write?.(new TextEncoder().encode(output));
      signal.throwIfAborted();
      return exitStatus(exitCode);
    },
    async attach({ id }, { stdin, stdout, stderr }, signal) {
      const lines = runtime.scriptOf(id)?.logs ?? [];
      await stdout?.(new TextEncoder().encode(lines.map((line) => `${line}\n`).join("")));
      const place = placeOf(id);
      const ended = runtime.ended(id, signal);
      if (stdin && place.container && isShell(place.container)) {
        const code = await Promise.race([runShell({ stdin, stdout, stderr }, place), ended]);
        // A client that has gone away has not typed anything.
        if (code !== undefined && !signal.aborted) runtime.exit(id, code);
      }
      await ended;
      return exitStatus(0);
    },
    portForward: async () => {
      throw new Error("the pod is simulated: nothing listens in it");
    },
  };
}

/** All of it was said when the container started; from then on there is silence. */
async function* scriptedLog(
  runtime: SimulatedRuntime,
  id: string,
  { follow, tailLines = Number.POSITIVE_INFINITY }: LogQuery,
  signal: AbortSignal,
): AsyncGenerator<readonly LogEntry[]> {
  const time = microTimeOf(runtime.find(id)?.startedAt ?? 0).replace("Z", "000Z");
  const lines = runtime.scriptOf(id)?.logs ?? [];
  const encoder = new TextEncoder();
  yield lines
    .slice(Math.max(0, lines.length - tailLines))
    .map((line) => ({ time, bytes: encoder.encode(`${line}\n`) }));
  if (follow) await runtime.ended(id, signal);
}
