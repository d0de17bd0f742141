// Which kinds are served. They come and go while a cluster runs: custom resources are defined and removed, and servers behind the
// API server fall silent. Follows upstream's k8s.io/client-go/discovery in what counts as a failure.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { AnyKind } from "#schema/kind.ts";

/** What is served, as far as could be found out. */
export interface DiscoveryResult {
  /** A kind that is served in several versions is there several times, the preferred version first. */
  readonly kinds: readonly AnyKind[];
  /** Versions of groups (`apps/v1`) whose discovery failed, and why. Kinds that were known of them may still be served. */
  readonly failures: ReadonlyMap<string, unknown>;
}

export interface Discovery {
  /** Rejects if nothing at all can be found out. */
  discover(signal: AbortSignal): Promise<DiscoveryResult>;
  /** Calls the listener whenever the kinds have changed, until the returned function is called. A source without it must be polled. */
  onChange?(listener: () => void): () => void;
}

/** Of kinds that never change. */
export const fixedDiscovery = (kinds: readonly AnyKind[]): Discovery => ({
  discover: async () => ({ kinds, failures: new Map() }),
});

/** Some groups could not be asked for; in upstream's words, since they are shown to people. */
export class GroupDiscoveryFailed extends Error {
  override readonly name = "GroupDiscoveryFailed";
  readonly failures: ReadonlyMap<string, unknown>;

  constructor(failures: ReadonlyMap<string, unknown>) {
    const texts = [...failures].map(([groupVersion, error]) => `${groupVersion}: ${explain(error)}`);
    super(`unable to retrieve the complete list of server APIs: ${texts.toSorted().join(", ")}`);
    this.failures = failures;
  }
}

/** Why to look again: the interval is over, or a change was announced. */
export type Occasion = "time" | "change";

interface Looking {
  readonly clock: Clock;
  readonly everyMs: number;
  /** Must not throw. Changes announced while it runs cause one more call for all of them. */
  look(occasion: Occasion, signal: AbortSignal): Promise<void>;
}

/** Looks at once, then at intervals, and whenever a change is announced. */
export async function followDiscovery(
  discovery: Discovery,
  { clock, everyMs, look }: Looking,
  signal: AbortSignal,
): Promise<void> {
  let woken = Promise.withResolvers<void>();
  const stop = discovery.onChange?.(() => woken.resolve());
  try {
    for (let due = clock.elapsed(); ; ) {
      const isTime = clock.elapsed() >= due;
      if (isTime) due = clock.elapsed() + everyMs;
      await look(isTime ? "time" : "change", signal);
      const cancel = clock.after(due - clock.elapsed(), () => woken.resolve());
      try {
        await unlessAborted(woken.promise, signal);
      } finally {
        cancel();
      }
      woken = Promise.withResolvers();
    }
  } finally {
    stop?.();
  }
}
