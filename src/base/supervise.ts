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

/** Node's own APIs reject with an AbortError that wraps the reason; ours reject with the reason itself. */
export const isAbort = (error: unknown, signal: AbortSignal): boolean =>
  error === signal.reason || (error instanceof Error && error.name === "AbortError");
