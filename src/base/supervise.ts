import { aborted } from "./aborted.ts";

/** A long-lived part of the system: it runs until the signal aborts, and rejects if it cannot. */
export interface Component {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}

/** Runs all components together: the first failure stops the others, and is thrown once they have all ended. */
export async function supervise(components: readonly Component[], outer: AbortSignal): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([outer, stop.signal]);
  const results = await Promise.allSettled(
    components.map(async (component) => {
      try {
        await component.run(signal);
        if (!signal.aborted) throw new Error("ended before it was asked to");
      } catch (cause) {
        if (signal.aborted && isAbort(cause, signal)) return;
        const failure = new Error(`component ${component.name} failed`, { cause });
        stop.abort(failure);
        throw failure;
      }
    }),
  );
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

/** Runs both, where `server` goes on until `user` has ended: what that has under way at the end still finds it there. */
export async function outlive(server: Component, user: Component, outer: AbortSignal): Promise<void> {
  const left = new AbortController();
  const leaving: Component = {
    name: user.name,
    run: (signal) => user.run(signal).finally(() => left.abort(new Error(`${user.name} has ended`))),
  };
  const lasting: Component = {
    name: server.name,
    async run(signal) {
      try {
        await server.run(left.signal);
      } catch (error) {
        if (!left.signal.aborted || !isAbort(error, left.signal)) throw error;
      }
      // Whatever ended its user ends this, too: it is told in a moment.
      if (left.signal.aborted) await aborted(signal);
    },
  };
  await supervise([leaving, lasting], outer);
}

/** Node's own APIs reject with an AbortError that wraps the reason; ours reject with the reason itself. */
export const isAbort = (error: unknown, signal: AbortSignal): boolean =>
  error === signal.reason || (error instanceof Error && error.name === "AbortError");
